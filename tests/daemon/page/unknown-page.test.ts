import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type ApiRig, openApi } from "../api/api.rig.ts";

const ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const TYPED = {
  ...{ accept: ACCEPT, "sec-fetch-site": "none" },
  ...{ "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
};

describe("a local address that no page has", () => {
  let rig: ApiRig;
  before(async () => {
    rig = await openApi();
  });
  after(() => rig.close());
  const open = (path: string, headers: Readonly<Record<string, string>> = TYPED) =>
    rig.ask(path, { headers });

  it("is a page with the navigation that says so, and names the page that was probably meant", async () => {
    for (const [path, near] of [
      ["/overwiew", 'Did you mean <a href="/">Overview</a>?'],
      ["/Overview", 'Did you mean <a href="/">Overview</a>?'],
      ["/request", 'Did you mean <a href="/requests">Requests</a>?'],
      ["/explore/more", null],
      ["/%3Cscript%3Ealert(1)%3C/script%3E", null],
      ["/%E0%A4", null],
      ["//evil.test/", null],
    ] as const) {
      const answer = await open(path);
      const text = await answer.text();
      assert.equal(answer.status, 404, path);
      assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
      assert.match(answer.headers.get("content-security-policy") ?? "", /^default-src 'none'/);
      assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
      assert.match(text, /<h2>There is no page at this address<\/h2>/);
      assert.match(text, /<nav aria-label="Pages">.*<a href="\/requests"/s);
      assert.equal(text.includes("Did you mean"), near !== null, path);
      if (near !== null) assert.ok(text.includes(near), path);
      assert.doesNotMatch(text, /alert\(1\)|evil/);
    }
  });

  it("is the page itself if only a trailing slash is wrong", async () => {
    for (const [path, expected] of [
      ["/explore/?by=model", "/explore?by=model"],
      ["/requests/", "/requests"],
      ["/requests/none/", "/requests/none"],
      ["//", "/"],
    ] as const) {
      const answer = await open(path);
      assert.deepEqual([answer.status, answer.headers.get("location")], [308, expected]);
    }
  });

  it("is a page in a browser that sends no Sec-Fetch headers", async () => {
    const answer = await open("/overwiew", { accept: ACCEPT });
    assert.match(await answer.text(), /There is no page at this address/);
  });

  it("is a problem for programs, also where only the API has a path", async () => {
    for (const [path, headers] of [
      ["/overwiew", {}],
      ["/v1/overwiew", { accept: ACCEPT }],
      ["/metrics/x", { accept: ACCEPT }],
    ] as const) {
      const answer = await open(path, headers);
      assert.deepEqual(
        [answer.status, answer.headers.get("content-type")],
        [404, "application/problem+json"],
      );
    }
  });

  it("is refused to other sites, and opens nothing of the API", async () => {
    for (const [path, headers] of [
      ["/overwiew", { ...TYPED, "sec-fetch-site": "cross-site" }],
      ["/v1/status", TYPED],
      ["/%76%31/status", TYPED],
      ["/metrics", TYPED],
    ] as const) {
      const answer = await open(path, headers);
      assert.equal(answer.status, 403, path);
      assert.equal(answer.headers.get("content-type"), "application/problem+json");
    }
    // However its path is written, only pages are routed for a navigation.
    for (const path of ["/V1/status", "/v1%2fstatus", "/.//v1/status", "/x/../v1/status"])
      assert.doesNotMatch(await (await open(path)).text(), /"started_at"/);
  });
});
