import type { Plan } from "../values/plan.ts";
import type { BillingPeriod } from "../wire/consent.ts";
import type { AccountPerson } from "./accounts.ts";

/** A subscription that a person ordered, after both checkboxes were recorded. */
export interface CheckoutOrder {
  /** The id of the consent; orders with the same id are the same order. */
  readonly consentId: string;
  readonly workspaceId: string;
  readonly plan: Plan;
  readonly period: BillingPeriod;
  readonly person: AccountPerson;
  /** The page to which the payment page may redirect the person. */
  readonly returnUrl: string;
}

/**
 * Opens the checkout of the host's payment provider and returns the URL of its page; null if there is nothing to pay there.
 * It does not change the plan. The host calls the cloud's `setPlan` when the payment is confirmed, before this resolves or
 * weeks later. Rejects if no checkout can be opened; the order may then be placed again.
 */
export type OpenCheckout = (order: CheckoutOrder) => Promise<string | null>;
