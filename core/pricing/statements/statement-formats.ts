import { isObject, type JsonObject } from "../../values/json-object.ts";
import { parseJsonWithNumberTexts } from "../sources/number-texts.ts";
import {
  anthropicCostCsv,
  anthropicCostReport,
  anthropicTokensCsv,
  anthropicUsageReport,
} from "./anthropic.ts";
import { awsCostAndUsage } from "./aws-cur.ts";
import { openaiCosts, openaiCostsCsv, openaiUsage, openaiUsageCsv } from "./openai.ts";
import { openrouterActivity, openrouterActivityCsv, openrouterGenerationsCsv } from "./openrouter.ts";
import type { PageFormat, RowFormat } from "./statement-line.ts";

const ROW_FORMATS: readonly RowFormat[] = [
  anthropicCostCsv,
  anthropicTokensCsv,
  openaiCostsCsv,
  openaiUsageCsv,
  openrouterGenerationsCsv,
  openrouterActivityCsv,
  awsCostAndUsage,
];

const PAGE_FORMATS: readonly PageFormat[] = [
  anthropicUsageReport,
  anthropicCostReport,
  openaiCosts,
  openaiUsage,
  openrouterActivity,
];

/** Returns the format of a table by its columns; null if none has them. */
export function findRowFormat(columns: readonly string[]): RowFormat | null {
  const names = new Set(columns);
  return ROW_FORMATS.find((format) => format.matches(names)) ?? null;
}

/** Returns the format of an API's page; null if none has its shape. */
export function findPageFormat(page: JsonObject): PageFormat | null {
  return PAGE_FORMATS.find((format) => format.matches(page)) ?? null;
}

/** Spells a column as CUR 2.0 does: `lineItem/UnblendedCost` is `line_item_unblended_cost`, `BYOK Usage` is `byok_usage`. */
export function columnName(title: string): string {
  return title
    .replace(/^\uFEFF/, "")
    .trim()
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[/: ]+/g, "_")
    .toLowerCase();
}

/** The pages of a JSON text: one page, or a list of pages. Numbers become texts, so that no amount passes through a float. */
export function parsePages(
  text: string,
):
  | { readonly ok: true; readonly pages: readonly JsonObject[] }
  | { readonly ok: false; readonly problem: string } {
  const parsed = parseJsonWithNumberTexts(text);
  if (!parsed.ok) return parsed;
  const pages = Array.isArray(parsed.value) ? parsed.value : [parsed.value];
  return pages.every(isObject) ? { ok: true, pages } : { ok: false, problem: "is not a page of a report" };
}

/** Whether a page has nothing in it, as the days after the last call do. */
export function isEmptyPage({ data }: JsonObject): boolean {
  return (
    Array.isArray(data) &&
    data.every((bucket) => isObject(bucket) && Array.isArray(bucket.results) && bucket.results.length === 0)
  );
}
