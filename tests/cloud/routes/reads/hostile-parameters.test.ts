import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { type CloudRig, createRig, START, UNLIMITED } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";
import { sendBody, sendRequest } from "../../kit/stored-body.ts";

const PERIOD = ["from", "to"];
const FILTER = ["project", "model", "provider", "status", "user"];
const PAGE = ["cursor", "limit"];

/** The parameters as written in a URL. */
const VALUES = [
  "'",
  "'%3B drop table requests--",
  "1) or (1=1",
  "%00",
  "a%00b",
  "%ED%A0%80",
  "%",
  "%F0%9F%98%80",
  "-1",
  "0",
  "1e400",
  "9999-12-31T23:59:59.999Z",
  "0001-01-01",
  "0000-00-00",
  "+275760-09-13",
  "..%2F..%2Fetc",
  "%5B%5D",
  "%7B%22a%22%3A1%7D",
  "__proto__",
  "",
  "x".repeat(3_000),
  "00000000-0000-0000-0000-000000000000",
];

describeOnOneEngine("what a client puts into an address", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: UNLIMITED });
  });
  after(() => rig.close());

  it("is rejected or answered, causes no failure, and changes nothing", async () => {
    const workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
    const requestId = await sendRequest(rig, workspace);
    await sendBody(rig, workspace, requestId, "{}");
    const { token } = await rig.personIn(workspace, "workspaceAdmin");
    const base = `/v1/workspaces/${workspace.id}`;
    const rows: [path: string, parameters: readonly string[]][] = [
      [`${base}/overview?`, PERIOD],
      [`${base}/analytics?by=model&`, [...PERIOD, "by", "bucket"]],
      [`${base}/optimisation?`, PERIOD],
      [`${base}/traces?`, [...PERIOD, ...FILTER, ...PAGE]],
      [`${base}/audit/requests?`, PAGE],
      [`${base}/audit/events?`, [...PERIOD, ...PAGE]],
      [`${base}/audit/prompt-views?`, [...PERIOD, "viewer", "subject", ...PAGE]],
      [`/v1/traces/${requestId}/body?`, ["reason", "view_id", "workspace_id"]],
    ];
    const wrong: string[] = [];
    const check = async (path: string, method = "GET", body?: unknown) => {
      const { status } = await rig.call(method, path, token, body);
      if (![200, 400, 403, 404, 422].includes(status)) wrong.push(`${status} ${method} ${path}`);
    };
    for (const value of VALUES) {
      for (const [path, parameters] of rows) {
        for (const parameter of parameters) await check(`${path}${parameter}=${value}`);
      }
      await check(`/v1/workspaces/${value}/overview`);
      await check(`${base}/traces/${value}`);
      await check(`/v1/traces/${value}/body`);
      await check(`${base}/members/${value}`, "PATCH", { role: "member" });
      for (const list of ["members", "keys", "invitations"])
        await check(`${base}/${list}/${value}`, "DELETE");
      for (const word of ["block", "invite"]) await check(`${base}/machines/${value}/${word}`, "POST");
    }
    assert.deepEqual(wrong, []);
    assert.deepEqual(
      rig.log.filter(({ event }) => event === "cloud.request_failed"),
      [],
    );
    const left = await rig.db.selectFrom("requests").select("requested_at").execute();
    assert.deepEqual(left, [{ requested_at: START - 60_000 }]);
  });
});
