/**
 * Compares the bundled rates with copies of public price lists, prints each difference without a known reason, and writes
 * `docs/price-lists.md`. It stores the compared rates of the copies in `tests/core/pricing/sources/shared-rates.data.txt`, with which a test
 * repeats the comparison. Without arguments, it uses that file instead of copies.
 *
 *     node tools/compare-price-lists.ts litellm=2026-07-24=litellm.json models.dev=2026-07-02=api.json
 *
 * The date is the day of the copy. genai-prices is the installed package.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { BUNDLED_RATES_DATE } from "../core/pricing/bundled-rates.data.ts";
import { loadBundledRates } from "../core/pricing/bundled-rates.ts";
import { normaliseModelName } from "../core/pricing/model-match.ts";
import { createPriceBook, type PriceBook } from "../core/pricing/price-book.ts";
import { priceListOf } from "../core/pricing/provider-names.ts";
import { readPublishedRate } from "../core/pricing/published-rates.ts";
import type { RateRow, TokenRates } from "../core/pricing/rates.ts";
import { DISPUTE_TOLERANCE } from "../core/pricing/sources/find-disputes.ts";
import { KNOWN_DIFFERENCES } from "../core/pricing/sources/known-differences.data.ts";
import { indexKnownDifferences } from "../core/pricing/sources/known-differences.ts";
import { parsePriceList } from "../core/pricing/sources/parse-price-list.ts";
import { PRICE_FORMATS } from "../core/pricing/sources/price-sources.ts";
import { meteredPriceLists } from "../daemon/cloud/metered-price-lists.ts";
import { installedProviders } from "./generate-rates.ts";

const FIELDS = ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h"] as const;

/** What a list states of a model that the bundled rates price too, in micro-USD per million tokens. */
export interface SharedRate {
  provider: string;
  model: string;
  rates: readonly (number | null)[];
}

/** The shared models of a copy of a list. */
export interface SharedList {
  source: string;
  /** The day of the copy. */
  date: string;
  shared: readonly SharedRate[];
}

/** A rate that differs from the bundled one by more than the tolerance. */
export interface Difference extends Pick<SharedRate, "provider" | "model"> {
  source: string;
  field: keyof TokenRates;
  bundled: number;
  listed: number;
}

/** The file of the shared rates. */
export const SHARED_RATES_FILE = fileURLToPath(
  new URL("../tests/core/pricing/sources/shared-rates.data.txt", import.meta.url),
);

const noon = (date: string) => Date.parse(`${date}T12:00:00Z`);

/** Returns the bundled row that a list can be compared with: no row that was taken from that list itself. */
function comparable(
  book: PriceBook,
  source: string,
  at: number,
  provider: string,
  model: string,
): RateRow | null {
  const row = book.findPublished({ provider, model, requestedModel: null, at });
  return row === null || row.origin?.name === source ? null : row;
}

/** Returns the models of a list that the bundled rates price too, with what the list states on its day. */
export function sharedRates(source: string, date: string, text: string, book: PriceBook): SharedList {
  const format = PRICE_FORMATS.find((each) => each === source);
  const parsed = format === undefined ? null : parsePriceList(text, format);
  if (parsed?.ok !== true) throw new Error(`the copy is not a price list of ${source}`);
  const lists = meteredPriceLists({ providers: [] });
  const rows = parsed.rates.flatMap((item) => {
    const read = readPublishedRate(item, "auto", date);
    return read.ok && lists.has(priceListOf(item.provider)) ? [read.row] : [];
  });
  const listed = createPriceBook(rows);
  const shared = new Map<string, SharedRate>();
  for (const { provider, model } of rows) {
    const row = listed.findPublished({ provider, model, requestedModel: null, at: noon(date) });
    if (row === null || comparable(book, source, noon(date), provider, model) === null) continue;
    shared.set(`${provider} ${normaliseModelName(model)}`, {
      provider,
      model,
      rates: FIELDS.map((field) => row.rates[field]),
    });
  }
  return { source, date, shared: [...shared.values()] };
}

/** Returns the rates that differ from the bundled ones. */
export function findDifferences({ source, date, shared }: SharedList, book: PriceBook): Difference[] {
  return shared.flatMap(({ provider, model, rates }) => {
    const row = comparable(book, source, noon(date), provider, model);
    return FIELDS.flatMap((field, index) => {
      const listed = rates[index] ?? null;
      const bundled = row?.rates[field] ?? null;
      if (listed === null || bundled === null) return [];
      const differs = Math.max(listed, bundled) > Math.min(listed, bundled) * (1 + DISPUTE_TOLERANCE);
      return differs ? [{ source, provider, model, field, bundled, listed }] : [];
    });
  });
}

/** Parses the file of the shared rates: a line `# source date` for each list, then `provider model rates`. */
export function parseSharedRates(text: string): SharedList[] {
  return text
    .split(/^# /m)
    .slice(1)
    .map((part) => {
      const [head = "", ...lines] = part.trimEnd().split("\n");
      const [source = "", date = ""] = head.split(" ");
      const shared = lines.map((line): SharedRate => {
        const [provider = "", model = "", rates = ""] = line.split(" ");
        return {
          provider,
          model,
          rates: rates.split(",").map((rate) => (rate === "" ? null : Number(rate))),
        };
      });
      return { source, date, shared };
    });
}

const formatList = ({ source, date, shared }: SharedList) =>
  [
    `# ${source} ${date}`,
    ...shared
      .map(({ provider, model, rates }) => `${provider} ${model} ${rates.join(",").replace(/,+$/, "")}`)
      .sort(),
    "",
  ].join("\n");

/** Returns the text of the installed genai-prices in its published format. */
export async function installedGenaiPrices(): Promise<string> {
  return JSON.stringify(await installedProviders());
}

/** The page about the differences. */
export const AGREEMENT_PAGE = fileURLToPath(new URL("../docs/price-lists.md", import.meta.url));

/** Returns the text of the page: the number of models that agree, and the reason of each difference. */
export function formatAgreement(lists: readonly SharedList[], book: PriceBook): string {
  const rows = lists.map((list) => {
    const differ = new Set(findDifferences(list, book).map(({ provider, model }) => `${provider} ${model}`))
      .size;
    const { source, date, shared } = list;
    return `| ${source} | ${date} | ${shared.length} | ${shared.length - differ} | ${differ} |`;
  });
  const reasons = KNOWN_DIFFERENCES.map(({ source, provider, models, hold, reason, page }) => {
    const names = models.map((line) => `\`${line.slice(0, line.indexOf(" "))}\``);
    const shown = names.length > 6 ? [...names.slice(0, 5), `${names.length - 5} more`] : names;
    return `- ${provider}, ${source}${hold ? " (held)" : ""}: ${shown.join(", ")}. ${reason}.${page === null ? "" : ` <${page}>`}`;
  });
  return `# Bundled rates compared with public price lists

\`node tools/compare-price-lists.ts\` writes this page. It compares the five token rates of every model that both a list and the bundled rates
price, on the day of the copy. Rates agree if they differ by at most ${DISPUTE_TOLERANCE * 100}%. Bundled rates that were taken from a list are
not compared with it.

| list | copy of | shared models | agree | differ |
|---|---|---|---|---|
${rows.join("\n")}

Every difference has a reason, or a test fails. The reasons are in \`core/pricing/sources/known-differences.data.ts\`, with every model and
what the list states. \`meter pricing list --disputed\` shows them. *Held* means that the list is wrong for the call that the meter
prices: \`meter pricing pull\` does not apply that rate until the list states another. A link leads to the provider's page that settles the
difference; some of these pages could not be read when the reason was written.

${reasons.join("\n")}
`;
}

if (import.meta.main) {
  const book = createPriceBook(loadBundledRates());
  const copies = process.argv.slice(2).map((argument) => {
    const [source = "", date = "", path = ""] = argument.split("=");
    return sharedRates(source, date, readFileSync(path, "utf8"), book);
  });
  if (copies.length > 0) writeFileSync(SHARED_RATES_FILE, copies.map(formatList).join(""));
  const lists = parseSharedRates(readFileSync(SHARED_RATES_FILE, "utf8"));
  lists.push(sharedRates("genai-prices", BUNDLED_RATES_DATE, await installedGenaiPrices(), book));
  writeFileSync(AGREEMENT_PAGE, formatAgreement(lists, book));
  const reasonOf = indexKnownDifferences();
  for (const list of lists)
    for (const { source, provider, model, field, bundled, listed } of findDifferences(list, book))
      if (reasonOf(source, provider, model, field, listed) === null)
        console.log(`no reason: ${source} ${provider} ${model} ${field}=${listed}, bundled ${bundled}`);
}
