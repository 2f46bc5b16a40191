import type { PriceBook } from "../core/pricing/price-book.ts";
import {
  answerSavings,
  joinReads,
  type RepeatSearch,
  sharedModels,
} from "../core/pricing/savings/answer-savings.ts";
import type { UsageData, UsageKey } from "../core/pricing/view/usage-answer.ts";
import type { UsagePlan } from "../core/pricing/view/usage-plan.ts";
import { type UsageQuery, withFilter } from "../core/pricing/view/usage-query.ts";
import type { SavingsAnswer } from "../core/wire/savings.ts";

/** What a host reads for a plan. */
type ReadUsage = (plan: UsagePlan) => Promise<Pick<UsageData, "groups" | "buckets">>;

/** What savings are read from. */
export interface SavingsSource {
  /** The plan of `savingsQuery()`. */
  readonly plan: UsagePlan;
  readonly read: ReadUsage;
  /** Searches the newest requests of the plan for repeated prompts, at most `REPEATS_SEARCHED`. */
  readonly findRepeats: () => Promise<RepeatSearch>;
  readonly book: PriceBook;
}

/** How many models of several providers are read by provider, each on its own. The others are counted under one provider. */
const MAX_SHARED_MODELS = 10;

/** Reads what could cost less. Both hosts read the same sums, so equal data gives equal answers. */
export async function readSavings({ plan, read, findRepeats, book }: SavingsSource): Promise<SavingsAnswer> {
  const withQuery = (change: Partial<UsageQuery>): UsagePlan => ({
    ...plan,
    query: { ...plan.query, ...change },
  });
  const byProject = await read(plan);
  const { groups: byProvider } = await read({ ...withQuery({ thenBy: "provider" }), buckets: [] });
  const shared = new Map<UsageKey, Pick<UsageData, "groups" | "buckets">>();
  for (const model of sharedModels(byProvider).slice(0, MAX_SHARED_MODELS)) {
    const { filters } = withFilter(plan.query, "model", model);
    shared.set(model, await read(withQuery({ by: "provider", filters })));
  }
  const repeats = await findRepeats();
  return answerSavings(
    plan,
    { ...joinReads(byProject, byProvider, shared), repeats },
    (provider, model, at) => {
      return book.find({ provider, model, requestedModel: null, at })?.rates ?? null;
    },
  );
}
