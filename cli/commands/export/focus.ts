import { formatPicoUsd } from "../../../core/pricing/money.ts";
import { isUnpriced } from "../../../core/pricing/unpriced.ts";
import { effectiveBilling } from "../../../core/values/billing.ts";
import type { BillingMode, RequestRecord } from "../../../core/values/record.ts";
import { formatCsvLine } from "../../../core/values/text/format-csv-field.ts";
import { DAY_MS, type Millis } from "../../../core/values/time.ts";
import { totalInputTokens, totalOutputTokens } from "../../../core/values/token-totals.ts";
import type { Convert } from "./formats.ts";

/** The requests of one row: those of one day (UTC) with the same values in the other columns. */
interface Group {
  readonly day: Millis;
  readonly project: string;
  readonly provider: string;
  readonly model: string;
  readonly client: string | null;
  readonly billing: BillingMode;
  /** Whether the requests have no known price. */
  readonly isUnpriced: boolean;
  requests: number;
  /** Null if no request states its tokens. */
  tokens: bigint | null;
  /** The cost at API prices. */
  costPicoUsd: bigint;
}

/**
 * The columns: those that FOCUS 1.2 requires, with the conditional ones that apply, in alphabetical order; then our own, which
 * begin with `x_`. Source: FinOps Open Cost and Usage Specification 1.2.
 */
const COLUMNS: Readonly<Record<string, (group: Group) => string | number | bigint | null>> = {
  BilledCost: billedCost,
  BillingAccountId: ({ provider }) => provider,
  BillingAccountName: () => null,
  BillingCurrency: () => "USD",
  BillingPeriodEnd: ({ day }) => monthOf(day, 1),
  BillingPeriodStart: ({ day }) => monthOf(day, 0),
  ChargeCategory: () => "Usage",
  ChargeClass: () => null,
  ChargeDescription: ({ provider, model }) => `Requests to ${model} (${provider})`,
  ChargeFrequency: () => "Usage-Based",
  ChargePeriodEnd: ({ day }) => isoTime(day + DAY_MS),
  ChargePeriodStart: ({ day }) => isoTime(day),
  ConsumedQuantity: ({ tokens }) => tokens,
  ConsumedUnit: ({ tokens }) => (tokens === null ? null : "Tokens"),
  ContractedCost: listCost,
  EffectiveCost: billedCost,
  InvoiceIssuerName: ({ provider }) => provider,
  ListCost: listCost,
  PricingQuantity: ({ tokens }) => tokens,
  PricingUnit: ({ tokens }) => (tokens === null ? null : "Tokens"),
  ProviderName: ({ provider }) => provider,
  PublisherName: ({ provider }) => provider,
  ResourceId: ({ model }) => model,
  ResourceType: () => "Model",
  ServiceCategory: () => "AI and Machine Learning",
  ServiceName: ({ provider }) => provider,
  ServiceSubcategory: () => "Generative AI",
  SkuId: ({ model }) => model,
  Tags: ({ project }) => JSON.stringify({ project }),
  x_BillingMode: ({ billing }) => billing,
  x_Client: ({ client }) => client,
  x_Project: ({ project }) => project,
  x_Requests: ({ requests }) => requests,
};

const isoTime = (at: Millis) => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** Returns the first instant of the month, or of a later one. */
function monthOf(at: Millis, monthsLater: number): string {
  const date = new Date(at);
  return isoTime(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater));
}

/** The cost at API prices. Empty if the price is unknown. */
function listCost({ isUnpriced: isUnknown, costPicoUsd }: Group): string | null {
  return isUnknown ? null : formatPicoUsd(costPicoUsd);
}

/** What the provider charges for the usage itself: nothing if a plan covers it. Empty if it is unknown who pays, or how much. */
function billedCost(group: Group): string | null {
  if (group.billing === "plan") return "0";
  return group.billing === "unknown" ? null : listCost(group);
}

/** Formats requests by FOCUS, as CSV. Rows are by day, then by project, provider and model. */
export const toFocus: Convert = async (pages, write) => {
  const groups = new Map<string, Group>();
  for await (const page of pages) for (const request of page) addToGroup(groups, request);
  await write(formatCsvLine(Object.keys(COLUMNS)));
  const sorted = [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
  for (const [, group] of sorted)
    await write(formatCsvLine(Object.values(COLUMNS).map((value) => value(group))));
};

function addToGroup(groups: Map<string, Group>, request: RequestRecord): void {
  const { requestedAt, project, provider, model, client } = request;
  const day = Math.floor(requestedAt / DAY_MS) * DAY_MS;
  const billing = effectiveBilling(request);
  const isUnknown = isUnpriced(request);
  const key = JSON.stringify([isoTime(day), project, provider, model, client, billing, isUnknown]);
  let group = groups.get(key);
  if (group === undefined) {
    const sums = { requests: 0, tokens: null, costPicoUsd: 0n };
    group = {
      day,
      project,
      provider,
      model,
      client: client ?? null,
      billing,
      isUnpriced: isUnknown,
      ...sums,
    };
    groups.set(key, group);
  }
  group.requests += 1;
  group.costPicoUsd += request.costPicoUsd ?? 0n;
  const [input, output] = [totalInputTokens(request.tokens), totalOutputTokens(request.tokens)];
  if (input !== null || output !== null)
    group.tokens = (group.tokens ?? 0n) + BigInt(input ?? 0) + BigInt(output ?? 0);
}
