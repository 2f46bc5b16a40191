import type { BillingMode, RequestRecord } from "./record.ts";

/** Providers that only serve plans, so that a record of an older daemon without a billing mode belongs to a plan. */
export const PLAN_PROVIDERS = ["codex", "code-assist"] as const;

/** Returns how a record is billed, also one of an older daemon. */
export function effectiveBilling(record: Pick<RequestRecord, "billingMode" | "provider">): BillingMode {
  if (record.billingMode !== null) return record.billingMode;
  return (PLAN_PROVIDERS as readonly string[]).includes(record.provider) ? "plan" : "unknown";
}

/** SQL for the same, from the columns `billing_mode` and `provider`. */
export const EFFECTIVE_BILLING_SQL = `coalesce(billing_mode, case when provider in (${PLAN_PROVIDERS.map((name) => `'${name}'`).join(", ")}) then 'plan' else 'unknown' end)`;
