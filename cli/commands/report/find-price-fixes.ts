import { explainRequest } from "../../../core/pricing/explain-request.ts";
import { fixOfUnpriced } from "../../../core/pricing/price-fix.ts";
import { readSourcePulledAt } from "../../../daemon/cloud/pull-state.ts";
import type { ReportQuery } from "../../../daemon/store/port/reports.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { openPriceBook } from "../../records/price-book.ts";
import type { UnpricedModelFix } from "../../render/price-fixes.ts";

/** The number of models whose fix a report shows. */
const MAX_MODELS = 5;

/** Finds the models without a price in the report, and how each gets one. */
export async function findPriceFixes(
  { home, env }: CommandContext,
  store: Pick<Store, "reports" | "records" | "rates" | "notes">,
  query: Omit<ReportQuery, "by" | "days">,
): Promise<UnpricedModelFix[]> {
  const models = await store.reports.readUnpricedModels(query, MAX_MODELS);
  if (models.length === 0) return [];
  const book = openPriceBook((await readConfig(home, env)).config, store.rates);
  const now = Date.now();
  const lastPull = (source: string) => readSourcePulledAt(store.notes, source);
  const fixes: UnpricedModelFix[] = [];
  for (const each of models) {
    const latest = await store.records.get(each.lastRequestId);
    const fix = latest === null ? null : fixOfUnpriced(explainRequest(latest, book), lastPull, now);
    fixes.push({ ...each, fix });
  }
  return fixes;
}
