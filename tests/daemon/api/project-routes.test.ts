import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type ApiRig, DASHBOARD, openApi } from "./api.rig.ts";

describe("the project routes", () => {
  const asked: unknown[] = [];
  let api: ApiRig;
  before(async () => {
    api = await openApi({
      origins: {
        async find(name, origin) {
          asked.push([name, origin]);
          return `${name}-acme`;
        },
        reload: () => void asked.push("reload"),
      },
    });
  });
  after(() => api.close());

  const secret = { authorization: "Bearer right", "content-type": "application/json" };
  const post = (path: string, body: unknown, headers: Record<string, string> = secret) =>
    api.ask(`/v1/projects/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const request = { name: "api", remote: null, folder: "/w/api" };

  it("return the project of a folder", async () => {
    const response = await post("find", request);
    assert.deepEqual([response.status, await response.json()], [200, { project: "api-acme" }]);
    assert.deepEqual(asked.splice(0), [["api", { remote: null, folder: "/w/api" }]]);
  });

  it("reload the projects", async () => {
    assert.equal((await post("reload", {})).status, 200);
    assert.deepEqual(asked.splice(0), ["reload"]);
  });

  const invalid: readonly [why: string, body: unknown][] = [
    ["no object", []],
    ["no name", { ...request, name: "" }],
    ["a long name", { ...request, name: "x".repeat(65) }],
    ["no folder", { ...request, folder: undefined }],
    ["a long folder", { ...request, folder: "/".repeat(4_097) }],
    ["a remote that is no text", { ...request, remote: 5 }],
  ];
  for (const [why, body] of invalid)
    it(`refuse a request with ${why}`, async () => assert.equal((await post("find", body)).status, 422));

  it("require the secret, also of a dashboard", async () => {
    const dashboard = { origin: DASHBOARD, "x-meter-request": "1", "content-type": "application/json" };
    for (const path of ["find", "reload"])
      assert.equal((await post(path, request, dashboard)).status, 401, path);
    assert.deepEqual(asked, []);
  });

  it("do not exist without origins", async () => {
    const bare = await openApi();
    const response = await bare.ask("/v1/projects/reload", { method: "POST", headers: secret });
    assert.equal(response.status, 404);
    bare.close();
  });
});
