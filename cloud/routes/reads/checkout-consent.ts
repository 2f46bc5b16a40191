import { decideConsent, wordingHash } from "../../../core/privacy/consent/checkout-consent.ts";
import { problem } from "../../http/problem.ts";
import { newId } from "../../new-id.ts";
import { insertConsent } from "../../store/consent.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The routes of the consent that a person gives before a checkout. */
export const consentHandlers = {
  "GET /v1/consent/checkout": ({ parts, answer }) => {
    const { strings } = parts.config.checkoutWording;
    return answer(200, { strings: [...strings], wording_hash: wordingHash(strings, parts.sha256) });
  },

  "POST /v1/consent/checkout": async ({ parts, actor, body, context, answer }) => {
    const { strings, earlierHashes } = parts.config.checkoutWording;
    const now = parts.clock.now();
    const verdict = decideConsent(body, {
      userId: actor.userId,
      ip: parts.addressOf(context),
      userAgent: context.req.header("user-agent") ?? null,
      now,
      knownWordings: new Set([wordingHash(strings, parts.sha256), ...earlierHashes]),
    });
    if (!verdict.ok) return problem(verdict.reason);
    const id = newId(parts);
    await insertConsent(parts.db, id, verdict.record, now);
    return answer(201, { id, timestamp: verdict.record.timestamp });
  },
} satisfies Partial<ApiHandlers>;
