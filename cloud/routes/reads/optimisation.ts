import { readSavings } from "../../store/reads/savings.ts";
import type { ApiHandlers } from "../api-call.ts";
import { parsePeriod } from "./read-period.ts";

/** Most findings in an answer. Decision: the largest savings only; a longer list would not be read. */
const MAX_FINDINGS = 100;

/** The route of the savings. */
export const optimisationHandlers = {
  /** The last 90 days by default; clamped to the floor, on Solo also to 90 days. */
  "GET /v1/workspaces/:ws/optimisation": async ({ parts, workspace, query, answer }) => {
    const period = parsePeriod("optimisation", query, workspace, parts.clock.now());
    if (!period.ok) return period.refusal;
    const { book } = await parts.rates.current();
    const savings = await readSavings(parts.db, workspace.workspaceId, period.value, book);
    const findings = savings.slice(0, MAX_FINDINGS).map((saving) => ({
      kind: saving.kind,
      provider: saving.provider,
      model: saving.model,
      project: saving.project,
      requests: saving.requests,
      cost_pico_usd: saving.costPicoUsd.toString(),
      unknown_billing_pico_usd: saving.unknownBillingPicoUsd.toString(),
      saving_pico_usd: saving.savingPicoUsd?.toString() ?? null,
      summary: saving.summary,
    }));
    return answer(200, { ...period.value.stated, findings });
  },
} satisfies Partial<ApiHandlers>;
