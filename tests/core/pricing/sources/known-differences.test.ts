import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { BUNDLED_RATES_DATE } from "../../../../core/pricing/bundled-rates.data.ts";
import { loadBundledRates } from "../../../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../../../core/pricing/price-book.ts";
import { KNOWN_DIFFERENCES } from "../../../../core/pricing/sources/known-differences.data.ts";
import { formatReason, indexKnownDifferences } from "../../../../core/pricing/sources/known-differences.ts";
import {
  AGREEMENT_PAGE,
  findDifferences,
  formatAgreement,
  installedGenaiPrices,
  parseSharedRates,
  SHARED_RATES_FILE,
  sharedRates,
} from "../../../../tools/compare-price-lists.ts";

const book = createPriceBook(loadBundledRates());
const lists = [
  ...parseSharedRates(readFileSync(SHARED_RATES_FILE, "utf8")),
  sharedRates("genai-prices", BUNDLED_RATES_DATE, await installedGenaiPrices(), book),
];
const differences = lists.flatMap((list) => findDifferences(list, book));

describe("the bundled rates compared with public price lists", () => {
  it("share hundreds of models with each list", () => {
    const counts = Object.fromEntries(lists.map(({ source, shared }) => [source, shared.length]));
    assert.ok(counts.litellm! > 800 && counts["models.dev"]! > 900 && counts["genai-prices"]! > 1_500);
  });

  it("differ only where the reason is known", () => {
    const reasonOf = indexKnownDifferences();
    const unexplained = differences.filter(
      ({ source, provider, model, field, listed }) =>
        reasonOf(source, provider, model, field, listed) === null,
    );
    assert.deepEqual(unexplained, []);
  });

  it("differ wherever a reason is given", () => {
    const found = new Set(
      differences.map(({ source, provider, model, field, listed }) =>
        [source, provider, model.toLowerCase(), `${field}=${listed}`].join(" "),
      ),
    );
    const given = KNOWN_DIFFERENCES.flatMap(({ source, provider, models }) =>
      models.flatMap((line) => {
        const [model = "", ...rates] = line.split(" ");
        return rates.map((rate) => [source, provider, model.toLowerCase(), rate].join(" "));
      }),
    );
    assert.deepEqual(
      given.filter((line) => !found.has(line)),
      [],
    );
  });
});

describe("docs/price-lists.md", () => {
  it("states what the comparison finds", () => {
    assert.equal(readFileSync(AGREEMENT_PAGE, "utf8"), formatAgreement(lists, book));
  });
});

describe("formatReason()", () => {
  it("names the page if there is one", () => {
    assert.equal(formatReason({ reason: "it is", page: null }), "it is");
    assert.equal(formatReason({ reason: "it is", page: "https://a.test" }), "it is (https://a.test)");
  });
});

describe("indexKnownDifferences()", () => {
  const known = {
    ...{ source: "litellm", provider: "google", hold: true, reason: "it is", page: null },
    models: ["Gemini-1 input=2 output=3"],
  };
  const find = indexKnownDifferences([known]);

  it("finds the reason under each name of the provider and in any case", () => {
    assert.equal(find("litellm", "vertex", "gemini-1", "output", 3), known);
  });

  it("finds none once the list states another rate, and none for other lists", () => {
    assert.equal(find("litellm", "google", "gemini-1", "output", 4), null);
    assert.equal(find("models.dev", "google", "gemini-1", "output", 3), null);
  });
});
