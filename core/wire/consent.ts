import * as v from "valibot";
import { PLANS } from "../plans/plan.ts";
import { identifier, instant, sha256Hex } from "./fields.ts";

/** Billing periods. Source: contract, "Checkout consent record". */
export const BILLING_PERIODS = ["monthly", "annual"] as const;

/** How often a plan is paid. */
export type BillingPeriod = (typeof BILLING_PERIODS)[number];

/**
 * `POST /v1/consent/checkout`. Who, when, from where and with what comes from the session and the server; fields of those
 * names are dropped. An unticked box is read, so that it can be refused by its own reason (`decideConsent`).
 */
export const checkoutConsentSchema = v.object({
  plan: v.picklist(PLANS),
  period: v.picklist(BILLING_PERIODS),
  wording_hash: sha256Hex,
  /** Terms, Privacy, Refund policy. */
  agreed_terms: v.optional(v.boolean(), false),
  /** Immediate performance, and that the 14-day cooling-off right is lost on delivery. */
  agreed_immediate: v.optional(v.boolean(), false),
});

/** A subscriber's two ticks. */
export type CheckoutConsent = v.InferOutput<typeof checkoutConsentSchema>;

/** 201. */
export const checkoutConsentAnswerSchema = v.object({ id: identifier, timestamp: instant });

/** The consent as recorded. */
export type CheckoutConsentAnswer = v.InferOutput<typeof checkoutConsentAnswerSchema>;

/** `GET /v1/consent/checkout`: what the subscribe page shows, in this order, and the hash of exactly that. */
export const checkoutWordingSchema = v.object({ strings: v.array(v.string()), wording_hash: sha256Hex });

/** The words beside the two boxes. */
export type CheckoutWording = v.InferOutput<typeof checkoutWordingSchema>;
