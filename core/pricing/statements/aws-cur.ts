import { parseDecimal } from "../decimal.ts";
import {
  EMPTY_LINE,
  type LineKind,
  type RowFormat,
  type StatementRow,
  type TokenPart,
} from "./statement-line.ts";
import { checkUsd, dayOf, nameOf, readSafely, usdOf } from "./statement-values.ts";

/** The kinds by `line_item_line_item_type`. Any other type, such as `Usage` or `DiscountedUsage`, bills usage. */
const KINDS: Readonly<Record<string, LineKind>> = {
  Tax: "tax",
  Credit: "credit",
  Refund: "credit",
  BundledDiscount: "credit",
  EdpDiscount: "credit",
  PrivateRateDiscount: "credit",
  Discount: "credit",
  Fee: "fee",
};

/** Tokens in one unit of `pricing_unit`. For other units, such as `Units` of AWS Marketplace, no tokens are read. */
const UNITS: Readonly<Record<string, number>> = { tokens: 1, "1k tokens": 1_000, "1m tokens": 1_000_000 };

/** A usage type such as `USE1-Claude4.6Sonnet-cache-read-input-token-count-cross-region-global`. */
const USAGE_TYPE =
  /^(?:[A-Z]{2,4}\d?-)?(.+?)-((?:cache-(?:read|write)-)?(?:input|output)-token(?:s|-count)?)((?:-[a-z0-9]+)*)$/i;

/** A usage type of AWS Marketplace, whose model is in the name of the product: `USE1-MP:USE1_InputTokenCount-Units`. */
const MARKETPLACE_TYPE = /MP:.*?_((?:CacheRead|CacheWrite)?(?:Input|Output))TokenCount/i;

function partOf(text: string): TokenPart {
  const words = text.toLowerCase();
  if (/cache-?read/.test(words)) return "cache read";
  if (/cache-?write/.test(words)) return "cache write";
  return words.includes("output") ? "output" : "input";
}

function readUsageType(row: StatementRow) {
  const text = nameOf(row.line_item_usage_type) ?? "";
  const [, model, part, rest = ""] = USAGE_TYPE.exec(text) ?? [];
  const [tier = null] = /batch|flex|priority/i.exec(rest) ?? [];
  if (model !== undefined && part !== undefined && !text.includes("MP:"))
    return { model, part: partOf(part), tier: tier?.toLowerCase() ?? null };
  const [, marketplacePart] = MARKETPLACE_TYPE.exec(text) ?? [];
  const product = nameOf(row.product_product_name) ?? nameOf(row.line_item_line_item_description);
  const named = /^(.+?) *\(Amazon Bedrock Edition\)/i.exec(product ?? "")?.[1] ?? null;
  return {
    model: named,
    part: marketplacePart === undefined ? null : partOf(marketplacePart),
    tier: /batch/i.test(text) ? "batch" : null,
  };
}

const isBedrock = (row: StatementRow) =>
  [
    row.line_item_product_code,
    row.product_servicecode,
    row.product_product_name,
    row.line_item_line_item_description,
  ]
    .join(" ")
    .toLowerCase()
    .includes("bedrock");

function countTokens(row: StatementRow): bigint | null {
  const unit = nameOf(row.pricing_unit)?.toLowerCase() ?? "";
  if (!Object.hasOwn(UNITS, unit)) return null;
  const millionths = parseDecimal(row.line_item_usage_amount ?? "", 6);
  return millionths === null || millionths < 0n ? null : (millionths * BigInt(UNITS[unit]!)) / 1_000_000n;
}

/**
 * AWS Cost and Usage Report 2.0 (Data Exports), as CSV or Parquet; a legacy report has the same columns with other
 * spellings. `line_item_unblended_cost` is in USD, before credits, which have separate lines. Sources:
 * https://docs.aws.amazon.com/cur/latest/userguide/table-dictionary-cur2-line-item.html and
 * https://docs.aws.amazon.com/cur/latest/userguide/table-dictionary-cur2-product.html, 2026-08. The texts of Bedrock's
 * usage types are not in these tables.
 */
export const awsCostAndUsage: RowFormat = {
  name: "AWS Cost and Usage Report",
  provider: "bedrock",
  states: "both",
  keyIs: "AWS account",
  hasFeesApart: false,
  unitPicoUsd: 100n,
  omittedTiers: [],
  matches: (columns) =>
    ["line_item_usage_start_date", "line_item_usage_type", "line_item_unblended_cost"].every((name) =>
      columns.has(name),
    ),
  readRow: (row) =>
    readSafely(() => {
      if (!isBedrock(row)) return [];
      checkUsd("line_item_currency_code", row.line_item_currency_code);
      const type = nameOf(row.line_item_line_item_type) ?? "Usage";
      const kind = Object.hasOwn(KINDS, type) ? KINDS[type]! : "usage";
      const { model, part, tier } = readUsageType(row);
      const tokens = kind === "usage" && part !== null ? countTokens(row) : null;
      return [
        {
          ...EMPTY_LINE,
          date: dayOf("line_item_usage_start_date", row.line_item_usage_start_date),
          // A line of Bedrock that bills no tokens, such as a guardrail, is not a call of a model.
          kind: kind === "usage" && model === null ? "fee" : kind,
          model: kind === "usage" ? model : null,
          key: nameOf(row.line_item_usage_account_id),
          tier,
          part,
          costPicoUsd: usdOf("line_item_unblended_cost", row.line_item_unblended_cost || "0"),
          tokens: tokens === null || part === null ? {} : { [part]: tokens },
          item: nameOf(row.line_item_usage_type) ?? type,
        },
      ];
    }),
};
