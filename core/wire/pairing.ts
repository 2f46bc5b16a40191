import * as v from "valibot";
import { identifier, integer, maybe, name } from "./fields.ts";

/** A machine's fingerprint. Source: contract, "Limits": 32 hex characters. */
const fingerprint = v.pipe(
  v.string(),
  v.regex(/^[0-9a-fA-F]{32}$/, "must be 32 hexadecimal digits"),
  v.toLowerCase(),
);

/** `POST /v1/pairing/start`. Source: decisions, "Pairing". Daemons before v0.2.13 send no fingerprint. */
export const pairingStartSchema = v.object({
  fingerprint: maybe(fingerprint),
  hostname: name(255),
  platform: name(64),
  daemon_version: name(64),
});

/** What a daemon says of its machine. */
export type PairingStart = v.InferOutput<typeof pairingStartSchema>;

/** 201 to a start. */
export const pairingTicketSchema = v.object({
  /** 8 Crockford base-32 characters, shown `XXXX-XXXX`. */
  code: name(16),
  poll_token: name(256),
  verification_url: name(2048),
  /** Seconds. */
  expires_in: integer(1, 86_400),
  /** Seconds. */
  interval: integer(0, 3_600),
});

/** What the person approves, and what the daemon polls with. */
export type PairingTicketBody = v.InferOutput<typeof pairingTicketSchema>;

/** `POST /v1/pairing/poll`. */
export const pairingPollSchema = v.object({ poll_token: name(256) });

/** A poll. */
export type PairingPoll = v.InferOutput<typeof pairingPollSchema>;

/** 200 to a poll; the token comes once. */
export const pairingResultSchema = v.variant("status", [
  v.object({ status: v.picklist(["pending", "denied", "expired", "failed"]) }),
  v.object({
    status: v.literal("approved"),
    sync_token: name(256),
    workspace: v.object({ id: identifier, name: v.string() }),
  }),
]);

/** What a poll learned. */
export type PairingResult = v.InferOutput<typeof pairingResultSchema>;

/** The alphabet of a code: Crockford's base 32, which lacks I, L, O and U. */
const CODE = /^[0-9A-HJKMNP-TV-Z]{8}$/;

/** `POST /v1/pairing/approve` and `/v1/pairing/deny`. */
export const pairingDecisionSchema = v.object({
  code: v.pipe(
    v.string(),
    v.check((code) => normalisePairingCode(code) !== null, "must be a pairing code XXXX-XXXX"),
  ),
  workspace_id: identifier,
});

/** A person's yes or no. */
export type PairingDecision = v.InferOutput<typeof pairingDecisionSchema>;

/**
 * A code as a person types it (any case, blanks, hyphens, O for 0, I and L for 1: Crockford's own leniency) as its 8
 * characters; `null` where it can be none.
 */
export function normalisePairingCode(typed: string): string | null {
  if (typed.length > 64) return null;
  const code = typed.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll("O", "0").replaceAll(/[IL]/g, "1");
  return CODE.test(code) ? code : null;
}

/** A code's 8 characters as they are shown, `XXXX-XXXX`. */
export function formatPairingCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}
