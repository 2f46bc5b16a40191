import type { BillingMode, RequestRecord } from "./record.ts";

/** Providers that only serve plans, so that a record of an older daemon without a billing mode belongs to a plan. */
export const PLAN_PROVIDERS = ["codex", "code-assist"] as const;

/** Providers of older daemons that bill all calls by usage, whatever the credential. */
export const METERED_PROVIDERS = [
  "azure",
  "bedrock",
  "cerebras",
  "cohere",
  "deepseek",
  "fireworks",
  "gemini",
  "groq",
  "mistral",
  "openrouter",
  "perplexity",
  "together",
  "vertex",
] as const;

const includes = (names: readonly string[], name: string) => names.includes(name);

/** Returns how a record is billed. Records of older daemons do not state it, and follow from their provider. */
export function effectiveBilling(record: Pick<RequestRecord, "billingMode" | "provider">): BillingMode {
  if (record.billingMode !== null) return record.billingMode;
  if (includes(PLAN_PROVIDERS, record.provider)) return "plan";
  return includes(METERED_PROVIDERS, record.provider) ? "metered" : "unknown";
}

const quoted = (names: readonly string[]) => names.map((name) => `'${name}'`).join(", ");

/** SQL for the same, from the columns `billing_mode` and `provider`. */
export const EFFECTIVE_BILLING_SQL = `coalesce(billing_mode, case
  when provider in (${quoted(PLAN_PROVIDERS)}) then 'plan'
  when provider in (${quoted(METERED_PROVIDERS)}) then 'metered'
  else 'unknown' end)`;
