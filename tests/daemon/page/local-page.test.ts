import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { niceCeiling } from "../../../daemon/page/cost-chart.ts";
import { duration, shortCount, shortUsd } from "../../../daemon/page/formats.ts";
import { openApi } from "../api/api-rig.ts";
import { noon, sampleRecord } from "../store/sample-records.ts";

async function pageOf(
  fill: (store: Awaited<ReturnType<typeof openApi>>["store"]) => void,
  path = "/",
  change: Parameters<typeof openApi>[0] = {},
) {
  const rig = await openApi(change);
  try {
    fill(rig.store);
    const answer = await rig.ask(path);
    return { answer, text: await answer.text() };
  } finally {
    rig.close();
  }
}

describe("the local page", () => {
  it("says how to begin where nothing was metered", async () => {
    const { answer, text } = await pageOf(() => {});
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
    assert.match(text, /Nothing metered yet/);
    assert.match(text, /HTTPS_PROXY=http:\/\/127\.0\.0\.1:8081/);
    assert.match(text, /Not connected to a cloud/);
  });

  it("shows sums, groups, what is missing and what is wrong", async () => {
    const { text } = await pageOf((store) => {
      store.insertBatch({
        records: [
          sampleRecord({ costPicoUsd: 2_500_000_000_000n, requestedAt: noon }),
          sampleRecord({
            costPicoUsd: null,
            costSource: "unpriced",
            model: "nobody-knows",
            requestedAt: noon,
          }),
        ],
        bodies: [],
        coverage: [
          { at: noon, host: "h", kind: "metered", count: 2 },
          { at: noon, host: "h", kind: "websocket", count: 2 },
        ],
      });
    });
    assert.match(text, /\$2\.50/);
    assert.match(text, /1 request has no known price and is not in the cost\./);
    assert.match(text, /2 of 4 calls seen on providers' hosts were metered: 50%\./);
    assert.match(text, /Not metered: 2 WebSocket sessions/);
    assert.match(text, /2 records were lost since the start\./);
    assert.doesNotMatch(text, /Nothing metered yet/);
  });

  it("takes everything stored for text", async () => {
    const evil = `"'><img src=x onerror=alert(1)><script>alert(2)</script>`;
    const record = sampleRecord({
      model: evil,
      project: evil,
      client: evil,
      provider: evil,
      path: evil,
      requestedModel: `${evil}2`,
      requestedAt: noon,
    });
    for (const path of ["/", `/requests/${record.requestId}`]) {
      const { answer, text } = await pageOf((store) => store.insertRecords([record]), path);
      assert.equal(answer.status, 200);
      assert.ok(text.includes("&lt;img src=x"));
      assert.doesNotMatch(text, /<img|<script>|onerror=alert\(1\)>/);
    }
  });

  it("allows itself its own style and script, and nobody anything else", async () => {
    const { answer, text } = await pageOf((store) => store.insertRecords([sampleRecord()]));
    const policy = answer.headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.equal(answer.headers.get("cross-origin-opener-policy"), "same-origin");
    assert.doesNotMatch(text, / style="|<style| on[a-z]+="|https?:\/\/(?!127\.0\.0\.1:8081)/);
    for (const [path, type] of [
      ["/page.css", "text/css"],
      ["/page.js", "text/javascript"],
    ] as const) {
      const { answer: part } = await pageOf(() => {}, path);
      assert.ok(part.headers.get("content-type")?.startsWith(type));
      assert.equal(part.headers.get("cross-origin-resource-policy"), "same-origin");
    }
  });

  it("shows how the cloud stands, a year at most, and what is no request", async () => {
    const cloud = {
      routes: new (await import("hono")).Hono(),
      banner: async () => ({ banner: "PAUSED", sentence: "The key is invalid." }) as const,
    };
    const { text } = await pageOf(() => {}, "/?days=365", { cloud });
    assert.match(text, /Cloud sync is paused[\s\S]*The key is invalid\./);
    assert.match(text, /<a href="\/\?days=365" aria-current="page">/);
    assert.match((await pageOf(() => {}, "/?days=1e9")).text, /<a href="\/\?days=30" aria-current="page">/);
    const missing = await pageOf(() => {}, `/requests/${crypto.randomUUID()}`);
    assert.equal(missing.answer.status, 404);
    assert.match(missing.text, /There is no request of this id/);
  });
});

describe("shortUsd()", () => {
  const table: readonly [bigint | null, string][] = [
    [null, "–"],
    [0n, "$0.00"],
    [1n, "<$0.0001"],
    [49_999_999n, "<$0.0001"],
    [100_000_000n, "$0.0001"],
    [820_950_000_000n, "$0.8210"],
    [999_999_999_999n, "$1.0000"],
    [1_234_567_890_000_000n, "$1,234.57"],
  ];
  for (const [value, text] of table) it(`${value} as ${text}`, () => assert.equal(shortUsd(value), text));
});

describe("niceCeiling()", () => {
  it("is the next of 1, 2, 5 and their tens", () => {
    const values = [0n, 1n, 2n, 3n, 5n, 6n, 10n, 11n, 21n, 51n, 99n, 100n];
    assert.deepEqual(values.map(niceCeiling), [
      1_000_000_000_000n,
      1n,
      2n,
      5n,
      5n,
      10n,
      10n,
      20n,
      50n,
      100n,
      100n,
      100n,
    ]);
  });
});

describe("duration() and shortCount()", () => {
  it("are short", () => {
    assert.deepEqual([0, 999, 1_000, 59_949, 61_000].map(duration), [
      "0 ms",
      "999 ms",
      "1.0 s",
      "59.9 s",
      "1 min 1 s",
    ]);
    assert.deepEqual([null, 0, 999n, 1_234, 5_678_901n].map(shortCount), ["–", "0", "999", "1.23K", "5.68M"]);
  });
});
