import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SqliteConnection } from "../../../core/ports/sqlite.ts";
import { openApi } from "../api/api.rig.ts";
import { opener } from "../store/open-sample-store.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";

/** The pages whose cost must not grow with the requests that are stored. */
const PAGES = [
  ...[
    "/",
    "/?period=90d",
    "/?tab=branch",
    "/now",
    "/explore",
    "/explore?by=branch",
    "/projects",
    "/models",
    "/models?as=anthropic/claude-haiku-4-5",
    "/savings",
  ],
  ...[
    "/requests",
    "/requests?sort=cost",
    "/requests?sort=tokens",
    "/requests?project=a",
    "/sessions",
    "/coverage",
  ],
];

describe("the pages of a daemon", () => {
  it("read no table of requests from its beginning to its end", async () => {
    const open = opener.open.bind(opener);
    const texts = new Set<string>();
    let connection: SqliteConnection | null = null;
    opener.open = async (...given) => {
      const opened = await open(...given);
      const prepare = opened.prepare.bind(opened);
      opened.prepare = (text) => {
        texts.add(text);
        return prepare(text);
      };
      connection = opened;
      return opened;
    };
    const rig = await openApi();
    opener.open = open;
    try {
      rig.store.records.insert(
        Array.from({ length: 600 }, (_, at) => sampleRecord({ requestedAt: noon + at, project: "a" })),
      );
      for (let step = 0; step < 50 && rig.store.rollups.buildSome(rig.clock.now()); step += 1);
      texts.clear();
      for (const page of PAGES) assert.equal((await rig.ask(page)).status, 200, page);
      const read = [...texts];
      const isScan = (text: string) => {
        const plan = (connection ?? assert.fail()).prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`);
        const parameters = Array.from({ length: text.split("?").length - 1 }, () => null);
        // In the order of an index, up to a limit, is no scan to the end.
        const isLimited = (detail: string) => / USING /.test(detail) && / LIMIT /.test(text);
        return plan
          .all(parameters)
          .some(({ detail }) => /^SCAN requests\b/.test(detail) && !isLimited(detail));
      };
      assert.ok(isScan("SELECT sum(cost_pico_usd) FROM requests WHERE model = ?"), "a scan is recognised");
      const scans = read.filter(isScan);
      assert.ok(read.length > 20, `${read.length} statements`);
      assert.deepEqual(scans, []);
    } finally {
      rig.close();
    }
  });
});
