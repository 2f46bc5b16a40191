import type { Millis } from "../../../core/values/time.ts";
import { formatPairingCode, normalisePairingCode } from "../../../core/wire/pairing.ts";
import { findReachableWorkspace } from "../../access/reachable-workspaces.ts";
import { addressGroup } from "../../http/client-address.ts";
import { problem } from "../../http/problem.ts";
import { decidePairing, readPairing } from "../../store/pairing.ts";
import { findWorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiCall, ApiHandlers } from "../api-call.ts";

/** The routes by which a person decides about a machine that asks for a key. */
export const pairingDecisionHandlers = {
  "GET /v1/pairing/codes/:code": (call) =>
    limitWrongCodes(call, async (now) => {
      const code = normalisePairingCode(call.params.code);
      const found = code === null ? null : await readPairing(call.parts.db, code, now);
      if (code === null || found === null) return null;
      const { hostname, platform, address } = found;
      return call.answer(200, { code: formatPairingCode(code), hostname, platform, address });
    }),

  "POST /v1/pairing/approve": (call) => decide(call, true),
  "POST /v1/pairing/deny": (call) => decide(call, false),
} satisfies Partial<ApiHandlers>;

/**
 * Records the decision of a workspace member. The machine's requests and prompts will belong to them, or to another member
 * whom an admin names; approving alone does not make a person the author. An inaccessible workspace or a person they may not
 * name is refused before the code is checked, and does not count as a wrong code.
 */
async function decide(call: ApiCall<"POST /v1/pairing/approve">, approved: boolean): Promise<Response> {
  const { parts, actor, body, answer } = call;
  const workspace = await findReachableWorkspace(parts.db, actor, body.workspace_id);
  if (workspace === null) return problem("not_found");
  const { workspaceId } = workspace;
  const userId = body.user_id ?? actor.userId;
  if (userId !== actor.userId) {
    if (workspace.role !== "admin") return problem("forbidden");
    const named = await findWorkspaceAccess(parts.db, userId, workspaceId);
    if (named === null) return problem("member_unknown");
  }
  const code = normalisePairingCode(body.code) ?? "";
  return await limitWrongCodes(call, async (now) => {
    const decision = { code, approved, workspaceId, userId, decidedBy: actor.userId, now };
    const decided = await decidePairing(parts.db, decision);
    return decided ? answer(204) : null;
  });
}

/**
 * Runs `tryCode`, unless the person or their address sent too many wrong codes. `tryCode` returns null for a wrong code; only
 * those count.
 */
async function limitWrongCodes(
  { parts, actor, context }: Pick<ApiCall<"GET /v1/pairing/codes/:code">, "parts" | "actor" | "context">,
  tryCode: (now: Millis) => Promise<Response | null>,
): Promise<Response> {
  const { wrongCodes } = parts.limits;
  const clients = [`user ${actor.userId}`, `address ${addressGroup(parts.addressOf(context))}`];
  const now = parts.clock.now();
  const retryAfterSeconds = await wrongCodes.take(clients, now);
  if (retryAfterSeconds !== null) return problem("too_many_wrong_codes", { retryAfterSeconds });
  let isWrong = false;
  try {
    const answer = await tryCode(now);
    isWrong = answer === null;
    return answer ?? problem("pairing_unknown");
  } finally {
    if (!isWrong) await wrongCodes.refund(clients, now);
  }
}
