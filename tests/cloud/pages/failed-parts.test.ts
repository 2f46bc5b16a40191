import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { batch, record, type TestPerson } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { openTeamPages, type TeamPages } from "./pages.rig.ts";

describeOnOneEngine("a part of a workspace's page that can't be read", (engine) => {
  let pages: TeamPages;
  let admin: TestPerson;
  let requestId: string;
  before(async () => {
    pages = await openTeamPages(engine);
    const { rig, workspace } = pages;
    admin = await rig.personIn(workspace, "workspaceAdmin");
    requestId = rig.uuid();
    const sent = batch(record(requestId, { project: "apollo", session_id: "ab".repeat(16) }));
    assert.equal((await rig.call("POST", "/v1/requests/batch", workspace.token, sent)).status, 200);
  });
  after(() => pages.rig.close());

  const read = async (path: string) => {
    const answer = await pages.get(path.replace(":id", requestId), admin);
    return { status: answer.status, text: await answer.text() };
  };

  /** Reads a page while a table, or a column of it, has another name. */
  const readWithout = async (name: string, path: string) => {
    const { db } = pages.rig;
    const [table = "", column] = name.split(".");
    const rename = async (from: string, to: string) =>
      await (column === undefined
        ? sql`alter table ${sql.ref(from)} rename to ${sql.ref(to)}`
        : sql`alter table ${sql.ref(table)} rename column ${sql.ref(from)} to ${sql.ref(to)}`
      ).execute(db);
    await rename(column ?? table, "away");
    try {
      return await read(path);
    } finally {
      await rename("away", column ?? table);
    }
  };

  const AT = (part: string) => new RegExp(`role="note">Could not be read: ${part}\\.</div>`);
  const NO_COVERAGE = /Coverage could not be read\./;
  const NO_VIEWS = /<span class="bad">Saved views could not be read\.<\/span>/;

  for (const [table, path, part, place, rest] of [
    ["saved_views", "", "saved views", NO_VIEWS, /Spent by model/],
    ["saved_views", "/requests", "saved views", NO_VIEWS, /apollo/],
    ["coverage_hours", "/requests", "coverage", NO_COVERAGE, /1 of 1 requests[\s\S]*apollo/],
    ["coverage_hours", "/sessions", "coverage", NO_COVERAGE, /1 session[\s\S]*apollo/],
    ["coverage_hours", "/machines", "coverage", /could not be read<\/span>/, /1 machine</],
    ["usage_hourly", "/sessions", "menus of filters", AT("menus of filters"), /1 session[\s\S]*apollo/],
    ["limit_readings", "/now", "limits", AT("limits"), /Latest requests[\s\S]*apollo/],
    ["budgets", "/now", "budgets", AT("budgets"), /Latest requests[\s\S]*apollo/],
    ["daemon_runs", "/coverage", "times without the meter", AT("times without the meter"), /Coverage<\/dt>/],
    ["daemon_runs", "/machines", "times without the meter", AT("times without the meter"), /1 machine</],
    [
      "requests.attribution_tier",
      "/projects",
      "how projects were found",
      AT("how projects were found"),
      /apollo/,
    ],
    ["invitations", "/members", "invitations", AT("invitations"), /aria-label="Members"/],
    ["erasures", "/privacy", "erasures", AT("erasures"), /Holdings/],
    [
      "requests",
      "/privacy",
      "stored requests by person",
      AT("stored requests by person"),
      /Nothing was erased/,
    ],
    ["request_bodies", "/requests/:id", "stored prompt and answer", AT("stored prompt and answer"), /apollo/],
    ["machines.platform", "/people", "machines", AT("machines"), /aria-label="People"/],
  ] as const)
    it(`is named on ${path || "/"} (${part}), at its place too, and the page shows the rest`, async () => {
      const { status, text } = await readWithout(table, path);
      assert.equal(status, 200, text);
      assert.match(text, new RegExp(`role="alert">Could not be read: [^.]*${part}`));
      assert.match(text, /Code: <code>internal<\/code>\. <a href="[^"]+">Try again<\/a>/);
      assert.match(text, place);
      assert.match(text, rest);
      assert.doesNotMatch((await read(path)).text, /[Cc]ould not be read/);
    });

  it("is named if it consists of the names of people, and the page shows their IDs", async () => {
    const { accounts } = pages.rig;
    const { getPeople } = accounts;
    accounts.getPeople = () => Promise.reject(new Error("no directory"));
    try {
      for (const path of ["/requests", "/requests/:id", "/sessions", "/privacy"]) {
        const { status, text } = await read(path);
        assert.equal(status, 200, path);
        assert.match(text, /role="alert">Could not be read: [^.]*names of people/);
        assert.ok(text.includes(pages.workspace.userId), path);
      }
    } finally {
      accounts.getPeople = getPeople;
    }
  });

  it("is not left out of a file: the file is not sent", async () => {
    for (const [table, path] of [
      ["limit_readings", "/now?format=json"],
      ["invitations", "/members?format=csv"],
      ["coverage_hours", "/machines?format=csv"],
      ["daemon_runs", "/coverage?format=csv"],
    ] as const)
      assert.equal((await readWithout(table, path)).status, 500, path);
  });

  it("leaves the frame, the navigation, and how to find the cause, if the page has no other part", async () => {
    for (const [table, path, name] of [
      ["usage_branches", "", "Overview"],
      ["usage_hourly", "/explore", "Explore"],
      ["usage_branches", "/models", "Models"],
      ["requests", "/projects", "Projects"],
      ["usage_hourly", "/people", "People"],
      ["requests", "/requests", "Requests"],
      ["requests", "/sessions", "Sessions"],
      ["coverage_hours", "/coverage", "Coverage"],
      ["limit_readings", "/limits", "Limits"],
      ["budgets", "/budgets", "Budgets"],
      ["machines", "/machines", "Machines"],
      ["sync_keys", "/keys", "Keys"],
    ] as const) {
      const { status, text } = await readWithout(table, path);
      assert.equal(status, 500, path);
      assert.match(text, new RegExp(`<h1>${name}</h1>`));
      assert.match(text, /<nav aria-label="Pages">[\s\S]*\/limits"/);
      assert.match(
        text,
        /This page could not be read[\s\S]*<pre tabindex="0">curl http:[^<]*\/readyz<\/pre>/,
      );
      assert.match(text, /Code: <code>internal<\/code>[\s\S]*Try again/);
      assert.doesNotMatch(text, /relation|does not exist/);
    }
  });
});
