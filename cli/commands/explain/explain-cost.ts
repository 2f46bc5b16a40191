import { findUserHome } from "../../../adapters/files/meter-home.ts";
import { formatOrigins, originsOfNamesakes } from "../../../core/metering/attribution/list-origins.ts";
import { explainRequest } from "../../../core/pricing/explain-request.ts";
import { fixOfExplanation } from "../../../core/pricing/price-fix.ts";
import { explanationJson } from "../../../daemon/api/explanation-json.ts";
import { readSourcePulledAt } from "../../../daemon/cloud/pull-state.ts";
import { withStore } from "../../home/open-store.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { findRequest } from "../../records/find-request.ts";
import { openPriceBook } from "../../records/price-book.ts";
import { readOrigins } from "../../records/read-origins.ts";
import { forPrograms } from "../../render/for-programs.ts";
import { renderExplanation } from "./render-explanation.ts";

/** The options of `meter explain`. */
export interface ExplainCostOptions {
  readonly id: string;
  readonly json: boolean;
}

/** Shows how the cost of one request was calculated. */
export async function explainCost(context: CommandContext, options: ExplainCostOptions): Promise<void> {
  const { home } = context;
  const { config } = await readConfig(home, context.env);
  await withStore(home, { readOnly: true }, async (store) => {
    const request = await findRequest(store.records, options.id);
    const explanation = explainRequest(request, openPriceBook(config, store.rates));
    if (options.json) {
      context.printJson({
        ...explanationJson(explanation),
        cost_pico_usd: explanation.priced.costPicoUsd,
        factors: forPrograms(explanation.priced.factors),
      });
    } else {
      const lastPull = (source: string) => readSourcePulledAt(store.notes, source);
      const places = originsOfNamesakes(readOrigins(store.origins)).get(request.project) ?? [];
      context.print(
        renderExplanation(
          explanation,
          context.width,
          fixOfExplanation(explanation, lastPull, Date.now()),
          places.length === 0 ? null : formatOrigins(places, findUserHome()),
        ),
      );
    }
  });
}
