import type { PriceBook } from "../../../core/pricing/price-book.ts";
import type { Overview } from "../../../core/wire/reports.ts";
import type { CloudDatabase } from "../open-database.ts";
import { inReadScope } from "./read-scope.ts";
import { readUsage } from "./usage.ts";
import type { Span } from "./usage-spans.ts";

/** Most models in an answer. Decision: few, since a person states each price. */
export const MAX_UNPRICED_MODELS = 5;

/** Most providers and most models that are examined, those with the most unpriced requests first. */
const MAX_VALUES = 50;

/**
 * Reads the models with unpriced requests for which the book has no rate, most requests first. Requests of a model that has a
 * rate lack something else, such as token counts or a rate for their service tier, and so do requests without any tokens.
 */
export async function readUnpricedModels(
  db: CloudDatabase,
  workspaceId: string,
  { from, to }: Span,
  book: PriceBook,
): Promise<NonNullable<Overview["unpriced_models"]>> {
  const groups = await inReadScope(db, { workspaceId }, (trx) =>
    readUsage(trx, {
      from,
      to,
      workspaceId,
      bucket: "day",
      dimensionGroups: [[["provider", "model"]]],
      maxValues: MAX_VALUES,
      rankedBy: "unpriced_requests",
    }),
  );
  return groups
    .map(({ provider, model, totals }) => ({
      provider: provider as string,
      model: model as string,
      requests: totals.unpriced_requests,
      hasTokens: totals.prompt_tokens + totals.completion_tokens > 0,
    }))
    .filter(({ requests, hasTokens }) => requests > 0 && hasTokens)
    .filter(({ provider, model }) => book.find({ provider, model, requestedModel: null, at: to }) === null)
    .sort((one, other) => other.requests - one.requests || (one.model < other.model ? -1 : 1))
    .slice(0, MAX_UNPRICED_MODELS)
    .map(({ provider, model, requests }) => ({ provider, model, requests }));
}
