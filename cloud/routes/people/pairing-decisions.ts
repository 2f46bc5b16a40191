import type { Context } from "hono";
import type { Millis } from "../../../core/time.ts";
import {
  formatPairingCode,
  normalisePairingCode,
  type PairingShown,
  pairingDecisionSchema,
} from "../../../core/wire/mod.ts";
import { addressGroup } from "../../client-address.ts";
import { problem } from "../../errors.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import { findReachableWorkspace } from "../../reachable-workspaces.ts";
import { readSmallPayload } from "../../read-payload.ts";
import { decidePairing, readPairing } from "../../store/pairing.ts";
import type { WrongCodeLock } from "../../wrong-code-lock.ts";

/**
 * Lets somebody try a code, unless they or their address sent too many wrong ones. `tryCode` gives null for a wrong one,
 * which alone counts against them.
 */
async function countingWrongCodes(
  parts: CloudParts,
  lock: WrongCodeLock,
  context: Context<CloudEnv>,
  tryCode: (now: Millis) => Promise<Response | null>,
): Promise<Response> {
  const askers = [`user ${context.get("actor").userId}`, `address ${addressGroup(parts.addressOf(context))}`];
  const now = parts.clock.now();
  const retryAfterSeconds = lock.take(askers, now);
  if (retryAfterSeconds !== null) return problem("too_many_wrong_codes", { retryAfterSeconds });
  let isWrong = false;
  try {
    const answer = await tryCode(now);
    isWrong = answer === null;
    return answer ?? problem("pairing_unknown");
  } finally {
    if (!isWrong) lock.giveBack(askers, now);
  }
}

/** `GET /v1/pairing/codes/{code}`: which machine asks, for the page on which a person decides. */
export async function getPairingByCode(
  parts: CloudParts,
  lock: WrongCodeLock,
  context: Context<CloudEnv>,
): Promise<Response> {
  return await countingWrongCodes(parts, lock, context, async (now) => {
    const code = normalisePairingCode(context.req.param("code") ?? "");
    const found = code === null ? null : await readPairing(parts.db, code, now);
    if (code === null || found === null) return null;
    const { hostname, platform, address } = found;
    const answer: PairingShown = { code: formatPairingCode(code), hostname, platform, address };
    return context.json(answer);
  });
}

/**
 * `POST /v1/pairing/approve` and `/deny`, by a member of the workspace, in person. A workspace that is not theirs says
 * nothing of the code, and counts as no wrong one.
 */
export async function postPairingDecision(
  parts: CloudParts,
  lock: WrongCodeLock,
  approved: boolean,
  context: Context<CloudEnv>,
): Promise<Response> {
  const read = await readSmallPayload(context.req.raw, pairingDecisionSchema);
  if (!read.ok) return read.refusal;
  const actor = context.get("actor");
  const workspace = await findReachableWorkspace(parts.db, actor, read.value.workspace_id);
  if (workspace === null) return problem("not_found");
  const { workspaceId } = workspace;
  const code = normalisePairingCode(read.value.code) ?? "";
  return await countingWrongCodes(parts, lock, context, async (now) => {
    const decided = await decidePairing(parts.db, { code, approved, workspaceId, userId: actor.userId, now });
    return decided ? context.body(null, 204) : null;
  });
}
