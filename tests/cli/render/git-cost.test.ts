import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderPullRequestComment, renderTrailers } from "../../../cli/render/git-cost.ts";
import { naiveRow } from "../../daemon/store/naive-report.rig.ts";
import { sampleRecord } from "../../daemon/store/sample-records.rig.ts";

const usd = 1_000_000_000_000n;
const spent = sampleRecord({ costPicoUsd: (123n * usd) / 100n });
const covered = sampleRecord({ costPicoUsd: 4n * usd, billingMode: "plan", model: "a|b_c" });
const unpriced = sampleRecord({ costPicoUsd: null, costSource: "unpriced" });
const unknown = sampleRecord({ costPicoUsd: 10n, billingMode: "unknown" });

describe("renderTrailers()", () => {
  const trailers = (...records: (typeof spent)[]) => renderTrailers(naiveRow(records, null));

  it("has a line for each part of the cost, and none without requests", () => {
    assert.deepEqual(trailers(spent), ["LLM-Cost: $1.23 (meter)"]);
    assert.deepEqual(trailers(spent, covered, unknown), [
      "LLM-Cost: $1.23 (meter)",
      "LLM-Plan-Usage: $4.00 at API prices (meter)",
      "LLM-Unknown-Billing: <$0.01 (meter)",
    ]);
    assert.deepEqual(trailers(covered), ["LLM-Plan-Usage: $4.00 at API prices (meter)"]);
    assert.deepEqual(trailers(), []);
  });

  it("says how many requests are missing from the cost", () => {
    assert.deepEqual(trailers(spent, unpriced), ["LLM-Cost: $1.23 (meter, 1 request unpriced)"]);
  });
});

describe("renderPullRequestComment()", () => {
  it("has a row for each model, and escapes names", () => {
    const text = renderPullRequestComment(
      "pull request #12 of github.com/acme/my_shop",
      [naiveRow([covered], "a|b_c"), naiveRow([spent, unpriced], "claude-sonnet-4-5")],
      naiveRow([spent, covered, unpriced], null),
      { requests: 1, costPicoUsd: 4n * usd },
    );
    assert.equal(
      text,
      [
        "### LLM cost",
        "",
        "**Spent $1.23 · plan usage worth $4.00 at API prices**: pull request \\#12 of github.com/acme/my\\_shop, 3 requests.",
        "",
        "| model | requests | input | output | spent | plan usage |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| a\\|b\\_c | 1 | 2,130 | 50 | – | $4.00 |",
        "| claude-sonnet-4-5 | 2 | 4,260 | 100 | $1.23 | – |",
        "",
        "1 request without a known price; the cost is not included.",
        "",
        "From logs: 1 of 3 requests and $4.0000 of the cost. The rest is from the wire.",
        "",
        "Input includes cache tokens, and output includes thinking tokens.",
      ].join("\n"),
    );
  });

  it("says that there are no requests", () => {
    assert.equal(
      renderPullRequestComment("branch a", [], naiveRow([], null), { requests: 0, costPicoUsd: 0n }),
      "### LLM cost\n\nNo metered requests of branch a.",
    );
  });
});
