import { encodeHex } from "../../../core/values/hash-text.ts";
import { encodeBase64Url } from "../../../core/wire/base64.ts";
import { formatPairingCode, type PairingPollResponse } from "../../../core/wire/pairing.ts";
import { hashToken, mintToken } from "../../access/token.ts";
import { problem } from "../../http/problem.ts";
import { newId } from "../../new-id.ts";
import type { CloudParts } from "../../ports.ts";
import {
  type MintedKey,
  PAIRING_TTL_MS,
  type PairingPoll,
  pollPairing,
  startPairing,
} from "../../store/pairing.ts";
import type { ApiHandlers } from "../api-call.ts";
import { readNames } from "../reads/read-names.ts";

/** Seconds between two polls. Source: docs/specification.md#pairing. */
export const POLL_INTERVAL_SECONDS = 2;

/** How long a poll waits for a decision, milliseconds. Source: docs/specification.md#pairing: up to 25 s. */
export const POLL_WAIT_MS = 25_000;

/** How often a waiting poll reads the database, milliseconds: another instance may have stored the decision. */
const RECHECK_INTERVAL_MS = 1_000;

/** Crockford's base 32. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Characters of a code, without the hyphen. Source: docs/specification.md#pairing. */
export const CODE_CHARACTERS = 8;

/** How many codes to try before giving up. With 2^40 codes, even a second try is rare. */
const MAX_CODE_ATTEMPTS = 5;

/** The routes by which a machine asks for a key. */
export const pairingHandlers = {
  "POST /v1/pairing/start": async ({ parts, body: machine, context, answer }) => {
    const now = parts.clock.now();
    const address = parts.addressOf(context);
    const pollToken = encodeBase64Url(parts.randomBytes(32));
    const pollHash = hashToken(pollToken, parts.sha256);
    for (let attempt = 1; attempt <= MAX_CODE_ATTEMPTS; attempt += 1) {
      const pairingId = newId(parts);
      const code = newCode(parts);
      if (!(await startPairing(parts.db, { pairingId, code, pollHash, machine, address, now }))) continue;
      const shown = formatPairingCode(code);
      return answer(201, {
        code: shown,
        poll_token: pollToken,
        verification_url: `${parts.config.baseUrl}/connect?code=${shown}`,
        expires_in: PAIRING_TTL_MS / 1_000,
        interval: POLL_INTERVAL_SECONDS,
      });
    }
    return problem("unavailable", { retryAfterSeconds: POLL_INTERVAL_SECONDS });
  },

  /** Waits for a decision, for up to 25 s and only while the client waits. */
  "POST /v1/pairing/poll": async ({ parts, body, context, answer }) => {
    const pollHash = hashToken(body.poll_token, parts.sha256);
    const mint = (workspaceId: string) => newKey(parts, workspaceId);
    // Counts steps instead of reading the wall clock, which may be set back.
    for (let waitedMs = 0; ; waitedMs += RECHECK_INTERVAL_MS) {
      // For a client that disconnected, the token would be consumed and lost with the answer.
      const isGone = context.req.raw.signal.aborted;
      const poll = { now: parts.clock.now(), claim: newId(parts), mint };
      const found = isGone ? null : await pollPairing(parts.db, pollHash, poll);
      if (found === null) return answer(200, { status: "pending" });
      if (found.status !== "pending" || waitedMs >= POLL_WAIT_MS)
        return answer(200, await toResult(parts, found));
      await new Promise<void>((resolve) => parts.clock.setTimer(RECHECK_INTERVAL_MS, resolve));
    }
  },
} satisfies Partial<ApiHandlers>;

async function toResult({ accounts }: CloudParts, found: PairingPoll): Promise<PairingPollResponse> {
  if (found.status === "claimed") return { status: "pending" };
  if (found.status !== "approved") return { status: found.status };
  const { token, workspace, userId, promptHashKey } = found;
  const names = await readNames(accounts, [userId]).catch(() => new Map<string, string>());
  return {
    status: "approved",
    sync_token: token,
    workspace,
    user: { id: userId, name: names.get(userId) ?? "" },
    prompt_hash_key: encodeHex(promptHashKey),
  };
}

function newKey(parts: CloudParts, workspaceId: string): MintedKey {
  const { token, hash, prefix } = mintToken("sync", workspaceId, parts.randomBytes, parts.sha256);
  const promptHashKey = parts.randomBytes(32);
  return { keyId: newId(parts), token, tokenHash: hash, prefix, promptHashKey };
}

/** Creates a code of 40 random bits: the low five of each byte, so that every character is equally likely. */
function newCode({ randomBytes }: CloudParts): string {
  return Array.from(randomBytes(CODE_CHARACTERS), (byte) => ALPHABET[byte & 31]).join("");
}
