import type { Context } from "hono";
import {
  encodeBase64Url,
  formatPairingCode,
  type PairingResult,
  type PairingTicketBody,
  pairingPollSchema,
  pairingStartSchema,
} from "../../core/wire/mod.ts";
import { addressGroup } from "../client-address.ts";
import { problem } from "../errors.ts";
import { newId } from "../new-id.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import type { RateLimiter } from "../rate-limiter.ts";
import { readSmallPayload } from "../read-payload.ts";
import {
  type FreshKey,
  PAIRING_TTL_MS,
  type PairingPoll,
  pollPairing,
  startPairing,
} from "../store/pairing.ts";
import { hashToken, mintToken } from "../sync-token.ts";

/** Seconds between two polls. Source: decisions, "Pairing". */
export const POLL_INTERVAL_SECONDS = 2;

/** How long a poll waits for a decision, milliseconds. Source: decisions, "Pairing": up to 25 s. */
export const POLL_WAIT_MS = 25_000;

/** How often a waiting poll looks, milliseconds: another instance may have taken the decision. */
const LOOK_EVERY_MS = 1_000;

/** Crockford's base 32. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Characters of a code, without the hyphen. Source: decisions, "Pairing". */
export const CODE_CHARACTERS = 8;

/** Codes tried before giving up: with 2^40 of them, a second try is already a rarity. */
const MAX_CODE_ATTEMPTS = 5;

/** `POST /v1/pairing/start`, by anybody, so many times a minute from one address. */
export async function postPairingStart(
  parts: CloudParts,
  limiter: RateLimiter,
  context: Context<CloudEnv>,
): Promise<Response> {
  const now = parts.clock.now();
  const address = parts.addressOf(context);
  const retryAfterSeconds = limiter.take(addressGroup(address), now);
  if (retryAfterSeconds !== null) return problem("rate_limited", { retryAfterSeconds });
  const machine = await readSmallPayload(context.req.raw, pairingStartSchema);
  if (!machine.ok) return machine.refusal;

  const pollToken = encodeBase64Url(parts.randomBytes(32));
  const pollHash = hashToken(pollToken, parts.sha256);
  for (let attempt = 1; attempt <= MAX_CODE_ATTEMPTS; attempt += 1) {
    const pairingId = newId(parts);
    const code = newCode(parts);
    if (!(await startPairing(parts.db, { pairingId, code, pollHash, machine: machine.value, address, now })))
      continue;
    const shown = formatPairingCode(code);
    const answer: PairingTicketBody = {
      code: shown,
      poll_token: pollToken,
      verification_url: `${parts.config.baseUrl}/connect?code=${shown}`,
      expires_in: PAIRING_TTL_MS / 1_000,
      interval: POLL_INTERVAL_SECONDS,
    };
    return context.json(answer, 201);
  }
  return problem("unavailable", { retryAfterSeconds: POLL_INTERVAL_SECONDS });
}

/** `POST /v1/pairing/poll`: waits for a decision as long as the client does, but no longer than 25 s. */
export async function postPairingPoll(
  parts: CloudParts,
  limiter: RateLimiter,
  context: Context<CloudEnv>,
): Promise<Response> {
  const retryAfterSeconds = limiter.take(addressGroup(parts.addressOf(context)), parts.clock.now());
  if (retryAfterSeconds !== null) return problem("rate_limited", { retryAfterSeconds });
  const poll = await readSmallPayload(context.req.raw, pairingPollSchema);
  if (!poll.ok) return poll.refusal;

  const pollHash = hashToken(poll.value.poll_token, parts.sha256);
  const mint = (workspaceId: string) => newKey(parts, workspaceId);
  // Not by the wall clock, which may be set back by an hour.
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    // Not for a client that has gone: the token would be consumed and lost with the answer.
    const isGone = context.req.raw.signal.aborted;
    const found = isGone ? null : await pollPairing(parts.db, pollHash, parts.clock.now(), mint);
    if (found === null) return context.json({ status: "pending" } satisfies PairingResult);
    if (found.status !== "pending" || waitedMs >= POLL_WAIT_MS) return context.json(toResult(found));
    await new Promise<void>((resolve) => parts.clock.setTimer(LOOK_EVERY_MS, resolve));
  }
}

function toResult(found: PairingPoll): PairingResult {
  if (found.status !== "approved") return { status: found.status };
  return { status: "approved", sync_token: found.token, workspace: found.workspace };
}

function newKey(parts: CloudParts, workspaceId: string): FreshKey {
  const { token, hash, prefix } = mintToken("sync", workspaceId, parts.randomBytes, parts.sha256);
  return { keyId: newId(parts), machineId: newId(parts), token, tokenHash: hash, prefix };
}

/** 40 random bits; the low five of each byte, so that every character is as likely. */
function newCode({ randomBytes }: CloudParts): string {
  return Array.from(randomBytes(CODE_CHARACTERS), (byte) => ALPHABET[byte & 31]).join("");
}
