import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { batch, record } from "../kit/cloud-rig.ts";
import { describeOnEngines } from "../kit/engines.ts";
import { openTeamPages, type TeamPages } from "./pages.rig.ts";

describeOnEngines("a part of a workspace's page that can't be read", (engine) => {
  let pages: TeamPages;
  before(async () => {
    pages = await openTeamPages(engine);
    const { rig, workspace } = pages;
    const sent = batch(record(rig.uuid(), { project: "apollo" }));
    assert.equal((await rig.call("POST", "/v1/requests/batch", workspace.token, sent)).status, 200);
  });
  after(() => pages.rig.close());

  /** Reads a page while a table is away. */
  const readWithout = async (table: string, path: string): Promise<string> => {
    const { db } = pages.rig;
    await sql`alter table ${sql.ref(table)} rename to away`.execute(db);
    try {
      return await pages.read(path);
    } finally {
      await sql`alter table away rename to ${sql.ref(table)}`.execute(db);
    }
  };

  it("is named, with the code of its problem, and the rest is shown", async () => {
    for (const [table, path, part, rest] of [
      ["saved_views", "", "saved views", /Spent by model/],
      ["saved_views", "/requests", "saved views", /apollo/],
      ["coverage_hours", "/requests", "coverage", /1 of 1 requests[\s\S]*apollo/],
    ] as const) {
      const text = await readWithout(table, path);
      assert.match(text, new RegExp(`role="alert">Could not be read: ${part}\\. `), path);
      assert.match(text, /Code: <code>internal<\/code>\. <a href="[^"]+">Try again<\/a>/);
      assert.match(text, rest);
      assert.doesNotMatch(await pages.read(path), /Could not be read/);
    }
  });
});
