import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerUsage, type UsageGroup } from "../../../../core/pricing/view/usage-answer.ts";
import { usageCsv, usageMarkdown } from "../../../../core/pricing/view/usage-export.ts";
import { planUsage } from "../../../../core/pricing/view/usage-plan.ts";
import { parseUsageQuery } from "../../../../core/pricing/view/usage-query.ts";
import { emptySums } from "../../../../core/pricing/view/usage-sums.ts";
import { findZone } from "../../../../core/values/zone.ts";

function ask(text: string, groups: readonly UsageGroup[]) {
  const { query } = parseUsageQuery(new URLSearchParams(text));
  const zone = findZone("UTC") ?? assert.fail();
  const result = planUsage(query, { now: Date.UTC(2026, 10, 23), zone });
  assert.ok(result.ok);
  const buckets = groups.map(({ by, sums }) => ({ bucket: 0, by, sums }));
  return answerUsage(result.plan, { groups, buckets, compared: [], comparedBuckets: [], coverage: null });
}

const sums = (spentPicoUsd: bigint, unpriced = 0) => ({
  ...emptySums(),
  requests: 1_234,
  unpriced,
  spentPicoUsd,
  planUsagePicoUsd: 5_000_000_000_000n,
});

const PERIOD = "from=2026-11-01&to=2026-11-03&compare=none";

describe("usageCsv()", () => {
  it("has exact amounts, the period and the query in each line, and no formula", () => {
    const [head, line] = usageCsv(
      ask(`${PERIOD}&by=project&then=model`, [
        { by: "=cmd()", thenBy: 'a,"b"', sums: sums(1_500_000_000_001n) },
      ]),
    ).split("\r\n");
    assert.equal(head?.split(",").slice(0, 3).join(), "project,model,requests");
    assert.equal(
      line,
      `'=cmd(),"a,""b""",1234,0,0,0,0,0,0,,,,,,,1.500000000001,5,0,` +
        `2026-11-01T00:00:00.000Z,2026-11-03T00:00:00.000Z,UTC,from=2026-11-01&to=2026-11-03&compare=none&by=project&then=model`,
    );
  });

  it("has a line for each bucket without a dimension, and the total without both", () => {
    const groups = [{ by: null, thenBy: null, sums: sums(1n) }];
    assert.equal(usageCsv(ask(PERIOD, groups)).split("\r\n").length, 2 * 24 + 2);
    assert.equal(usageCsv(ask(`${PERIOD}&bucket=none`, groups)).split("\r\n").length, 3);
  });
});

describe("usageMarkdown()", () => {
  it("is a table with its period, its total and its caveats, in which no name is markup", () => {
    const answer = ask(`${PERIOD}&by=project&metric=tokens`, [
      { by: "a|b\n[x](http://evil)", thenBy: null, sums: sums(12_345_000_000_000n, 2) },
      { by: "c", thenBy: null, sums: sums(20_000_000_000n) },
    ]);
    assert.equal(
      usageMarkdown(answer),
      [
        "2026-11-01 to 2026-11-02 (UTC)",
        "",
        "| project | requests | spent | plan usage at API prices | unknown billing | tokens |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| a\\|b \\[x\\](http://evil) | 1,234 | $12.34 | $5.00 | $0.00 | – |",
        "| c | 1,234 | $0.0200 | $5.00 | $0.00 | – |",
        "| Total | 2,468 | $12.36 | $10.00 | $0.00 | – |",
        "",
        "- 2 requests have no known price; their cost is not included.",
        "",
      ].join("\n"),
    );
  });

  it("has two names in a line of two dimensions, and one column for requests", () => {
    const answer = ask(`${PERIOD}&by=project&then=model&metric=requests`, [
      { by: "a", thenBy: "m", sums: sums(1_000_000_000_000n) },
    ]);
    assert.deepEqual(usageMarkdown(answer).split("\n").slice(2, 6), [
      "| project | model | requests | spent | plan usage at API prices | unknown billing |",
      "| --- | --- | ---: | ---: | ---: | ---: |",
      "| a | m | 1,234 | $1.00 | $5.00 | $0.00 |",
      "| Total |  | 1,234 | $1.00 | $5.00 | $0.00 |",
    ]);
  });

  it("has a single line without a dimension and a bucket, and lists all caveats", () => {
    const groups = [{ by: null, thenBy: null, sums: { ...sums(0n, 1), incomplete: 1 } }];
    assert.deepEqual(
      usageMarkdown(ask(`${PERIOD}&bucket=none`, groups))
        .split("\n")
        .slice(2),
      [
        "| requests | spent | plan usage at API prices | unknown billing |",
        "| ---: | ---: | ---: | ---: |",
        "| 1,234 | $0.00 | $5.00 | $0.00 |",
        "",
        "- 1 request has no known price; its cost is not included.",
        "- 1 request has incomplete token counts; its cost may be higher.",
        "",
      ],
    );
  });
});
