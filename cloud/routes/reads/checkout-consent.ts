import type { Context } from "hono";
import { decideConsent, wordingHash } from "../../../core/consent/mod.ts";
import {
  type CheckoutConsentAnswer,
  type CheckoutWording,
  checkoutConsentSchema,
} from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import { newId } from "../../new-id.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { readSmallPayload } from "../../read-payload.ts";
import { insertConsent } from "../../store/consent.ts";

/** `GET /v1/consent/checkout`: the words beside the two boxes, and the hash by which a consent refers to them. Open to all. */
export function getCheckoutWording(parts: CloudParts, context: Context<CloudEnv>): Response {
  const { strings } = parts.config.checkoutWording;
  const answer: CheckoutWording = { strings: [...strings], wording_hash: wordingHash(strings, parts.sha256) };
  return context.json(answer);
}

/** `POST /v1/consent/checkout`, by a person who is signed in: 201, or 422 for a missing tick or a wording never shown. */
export async function postCheckoutConsent(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const consent = await readSmallPayload(context.req.raw, checkoutConsentSchema);
  if (!consent.ok) return consent.refusal;
  const { strings, earlierHashes } = parts.config.checkoutWording;
  const now = parts.clock.now();
  const verdict = decideConsent(consent.value, {
    userId: context.get("actor").userId,
    ip: parts.addressOf(context),
    userAgent: context.req.header("user-agent") ?? null,
    now,
    knownWordings: new Set([wordingHash(strings, parts.sha256), ...earlierHashes]),
  });
  if (!verdict.ok) return problem(verdict.reason);
  const id = newId(parts);
  await insertConsent(parts.db, id, verdict.record, now);
  const answer: CheckoutConsentAnswer = { id, timestamp: verdict.record.timestamp };
  return context.json(answer, 201);
}
