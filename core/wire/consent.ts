import * as v from "valibot";
import { PLANS } from "../values/plan.ts";
import { identifier, instant, sha256Hex } from "./fields.ts";

/** The billing periods. Source: docs/specification.md#consent. */
export const BILLING_PERIODS = ["monthly", "annual"] as const;

/** How often a plan is billed. */
export type BillingPeriod = (typeof BILLING_PERIODS)[number];

/**
 * The request of `POST /v1/consent/checkout`. User, time, address and user agent come from the session and the server;
 * the same fields in a request are ignored. An unticked box passes this schema so that `decideConsent` can reject it with
 * a specific reason.
 */
export const checkoutConsentSchema = v.object({
  plan: v.picklist(PLANS),
  period: v.picklist(BILLING_PERIODS),
  wording_hash: sha256Hex,
  /** The terms, the privacy policy and the refund policy. */
  agreed_terms: v.optional(v.boolean(), false),
  /** Immediate performance, which ends the 14-day cooling-off right on delivery. */
  agreed_immediate: v.optional(v.boolean(), false),
});

/** A subscriber's consent: the two boxes and the wording they were shown. */
export type CheckoutConsent = v.InferOutput<typeof checkoutConsentSchema>;

/** The 201 response to a checkout consent. */
export const checkoutConsentResponseSchema = v.object({ id: identifier, timestamp: instant });

/** The response of `GET /v1/consent/checkout`: the texts of the subscribe page in order, and their hash. */
export const checkoutWordingSchema = v.object({ strings: v.array(v.string()), wording_hash: sha256Hex });

/** The wording next to the two boxes. */
export type CheckoutWording = v.InferOutput<typeof checkoutWordingSchema>;
