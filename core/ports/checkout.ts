import type { Plan } from "../plans/mod.ts";
import type { BillingPeriod } from "../wire/mod.ts";
import type { AccountPerson } from "./accounts.ts";

/** What somebody wants to subscribe to, after both their ticks were recorded. */
export interface CheckoutOrder {
  /** The consent's id; two orders with one id are the same order. */
  readonly consentId: string;
  readonly workspaceId: string;
  readonly plan: Plan;
  readonly period: BillingPeriod;
  readonly person: AccountPerson;
  /** Where the payment page may send them back to. */
  readonly returnUrl: string;
}

/**
 * Opens the checkout of the host's payment provider and gives the address of its page; null where there is nothing to pay
 * there. It moves no plan by promise: the plan is changed by whoever learns that it was paid, before this resolves or
 * weeks later (the cloud's `setPlan`). Rejects where no checkout can be opened; the order may then be placed again.
 */
export type OpenCheckout = (order: CheckoutOrder) => Promise<string | null>;
