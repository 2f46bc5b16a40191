import * as v from "valibot";
import { identifier, integer, maybe, name, sha256Hex } from "./fields.ts";

/** A machine's fingerprint. Source: docs/specification.md#limits: 32 hex characters. */
const fingerprint = v.pipe(
  v.string(),
  v.regex(/^[0-9a-fA-F]{32}$/, "must be 32 hexadecimal digits"),
  v.toLowerCase(),
);

/** The request of `POST /v1/pairing/start`. Daemons before v0.2.13 send no fingerprint. Source: docs/specification.md#pairing. */
export const pairingStartRequestSchema = v.object({
  fingerprint: maybe(fingerprint),
  hostname: name(255),
  platform: name(64),
  daemon_version: name(64),
});

/** The machine that a daemon wants to pair. */
export type PairingStartRequest = v.InferOutput<typeof pairingStartRequestSchema>;

/** The 201 response to a start request. */
export const pairingStartResponseSchema = v.object({
  /** 8 Crockford Base32 characters, shown as `XXXX-XXXX`. */
  code: name(16),
  poll_token: name(256),
  verification_url: name(2048),
  /** Seconds. */
  expires_in: integer(1, 86_400),
  /** Seconds. */
  interval: integer(0, 3_600),
});

/** The code that a person approves, and the token that the daemon polls with. */
export type PairingStartResponse = v.InferOutput<typeof pairingStartResponseSchema>;

/** The request of `POST /v1/pairing/poll`. */
export const pairingPollRequestSchema = v.object({ poll_token: name(256) });

/** A poll for the outcome of a pairing. */
export type PairingPollRequest = v.InferOutput<typeof pairingPollRequestSchema>;

/** The 200 response to a poll. `sync_token` is sent only once. */
export const pairingPollResponseSchema = v.variant("status", [
  v.object({ status: v.picklist(["pending", "denied", "expired", "failed"]) }),
  v.object({
    status: v.literal("approved"),
    sync_token: name(256),
    workspace: v.object({ id: identifier, name: v.string() }),
    /** The author of the machine's requests and prompts. */
    user: maybe(v.object({ id: identifier, name: v.string() })),
    /** The workspace's secret key for `prompt_hash`, 32 bytes in hex. No other response contains it. */
    prompt_hash_key: maybe(sha256Hex),
  }),
]);

/** The outcome of a pairing so far. */
export type PairingPollResponse = v.InferOutput<typeof pairingPollResponseSchema>;

/** A code in Crockford's Base32, which omits I, L, O and U. */
const CODE = /^[0-9A-HJKMNP-TV-Z]{8}$/;

/** The request of `POST /v1/pairing/approve` and `POST /v1/pairing/deny`. */
export const pairingDecisionSchema = v.object({
  code: v.pipe(
    v.string(),
    v.check((code) => normalisePairingCode(code) !== null, "must be a pairing code XXXX-XXXX"),
  ),
  workspace_id: identifier,
  /** The member who uses the machine; `null` for the person who approves. An admin may name another member. */
  user_id: maybe(identifier),
});

/**
 * Normalises a typed code to its 8 characters: any case, spaces and hyphens, O for 0, I and L for 1, as Crockford's Base32
 * allows. Returns `null` if it cannot be a code.
 */
export function normalisePairingCode(typed: string): string | null {
  if (typed.length > 64) return null;
  const code = typed.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll("O", "0").replaceAll(/[IL]/g, "1");
  return CODE.test(code) ? code : null;
}

/** Formats the 8 characters of a code as `XXXX-XXXX`. */
export function formatPairingCode(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}
