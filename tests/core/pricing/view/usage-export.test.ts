import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerUsage, type UsageGroup } from "../../../../core/pricing/view/usage-answer.ts";
import { usageCsv, usageMarkdown, usageTimesCsv } from "../../../../core/pricing/view/usage-export.ts";
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

  it("has the columns that a view adds to its cells", () => {
    const groups = [
      { by: "apollo", thenBy: "main", sums: sums(2n) },
      { by: "apollo", thenBy: null, sums: sums(1n) },
    ];
    const csv = usageCsv(ask(`${PERIOD}&by=project&then=branch`, groups), [
      ["found_by", (row) => row.key],
      ["sessions", (_, cell) => cell.key?.length ?? null],
    ]);
    const [head, ...lines] = csv.trim().split("\r\n");
    assert.match(head ?? "", /,tz,query,found_by,sessions$/);
    assert.deepEqual(
      lines.map((line) => line.split("then=branch")[1]),
      [",apollo,4", ",apollo,"],
    );
  });

  it("has a line for each bucket without a dimension, and the total without both", () => {
    const groups = [{ by: null, thenBy: null, sums: sums(1n) }];
    assert.equal(usageCsv(ask(PERIOD, groups)).split("\r\n").length, 2 * 24 + 2);
    assert.equal(usageCsv(ask(`${PERIOD}&bucket=none`, groups)).split("\r\n").length, 3);
  });
});

describe("usageTimesCsv()", () => {
  it("has the metric of each value in each bucket, and its cumulative sum on request", () => {
    const query = "from=2026-11-01&to=2026-11-03&compare=none&by=project&bucket=day";
    const answer = ask(query, [{ by: "=a", thenBy: null, sums: sums(1_500_000_000_000n) }]);
    const rest = `UTC,${query}`;
    const days = [
      "2026-11-01T00:00:00.000Z,2026-11-02T00:00:00.000Z",
      "2026-11-02T00:00:00.000Z,2026-11-03T00:00:00.000Z",
    ];
    assert.deepEqual(usageTimesCsv(answer, false).trim().split("\r\n"), [
      "time,project,spent_usd,from,to,tz,query",
      `2026-11-01,'=a,1.5,${days[0]},${rest}`,
      `2026-11-02,'=a,0,${days[1]},${rest}`,
    ]);
    assert.deepEqual(usageTimesCsv(answer, true).trim().split("\r\n"), [
      "time,project,spent_usd,cumulative_spent_usd,from,to,tz,query",
      `2026-11-01,'=a,1.5,1.5,${days[0]},${rest}`,
      `2026-11-02,'=a,0,1.5,${days[1]},${rest}`,
    ]);
  });

  it("leaves unknown counts empty, and has a line per bucket without a dimension", () => {
    const query = "from=2026-11-01&to=2026-11-02&bucket=day&metric=tokens";
    const [head, line] = usageTimesCsv(
      ask(`${query}&by=project`, [{ by: "a", thenBy: null, sums: sums(1n) }]),
      true,
    ).split("\r\n");
    assert.equal(head, "time,project,tokens,cumulative_tokens,from,to,tz,query");
    assert.match(line ?? "", /^2026-11-01,a,,,2026/);
    const [named, requests] = usageTimesCsv(
      ask("from=2026-11-01&to=2026-11-02&bucket=day&metric=requests", [
        { by: null, thenBy: null, sums: sums(1n) },
      ]),
      true,
    ).split("\r\n");
    assert.equal(named, "time,requests,cumulative_requests,from,to,tz,query");
    assert.match(requests ?? "", /^2026-11-01,1234,1234,2026/);
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
