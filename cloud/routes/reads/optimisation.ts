import type { Context } from "hono";
import { type Optimisation, parseWire, periodQuerySchema } from "../../../core/wire/mod.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { orRefusal } from "../../read-payload.ts";
import { readSavings } from "../../store/reads/savings.ts";
import { readPeriodOf } from "./read-period.ts";

/** Most findings of an answer. Decision: the greatest savings; a longer list is not read. */
const MAX_FINDINGS = 100;

/** `GET /v1/workspaces/{ws}/optimisation?from&to`: 90 days unless asked; clamped to the floor, on Solo also to 90 days. */
export async function getOptimisation(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const workspace = context.get("workspace");
  const query = orRefusal(parseWire(periodQuerySchema, context.req.query()));
  if (!query.ok) return query.refusal;
  const period = readPeriodOf("optimisation", query.value, workspace, parts.clock.now());
  if (!period.ok) return period.refusal;
  const { book } = await parts.rates.current();
  const savings = await readSavings(parts.db, workspace.workspaceId, period.value, book);
  const answer: Optimisation = {
    ...period.value.stated,
    findings: savings.slice(0, MAX_FINDINGS).map((saving) => ({
      kind: saving.kind,
      provider: saving.provider,
      model: saving.model,
      project: saving.project,
      requests: saving.requests,
      cost_pico_usd: saving.costPicoUsd.toString(),
      saving_pico_usd: saving.savingPicoUsd?.toString() ?? null,
      summary: saving.summary,
    })),
  };
  return context.json(answer);
}
