import type { Millis } from "../../values/time.ts";
import type { CallIdentity } from "./call-identity.ts";

/** A pause after which calls of one process are a new session, in milliseconds. Source: docs/specification.md#sessions. */
export const SESSION_GAP_MS = 30 * 60_000;

/** How many processes, and how many sub-agents, are remembered. */
export const MAX_TRACKED = 4_096;

/** Finds the sessions that single calls do not state, from the calls before them. */
export interface SessionTracker {
  /**
   * Returns the identity with the session that the user started, for a sub-agent of a sub-agent that names only the session
   * that started it.
   */
  resolve(identity: CallIdentity): CallIdentity;
  /** Returns the session of a call that states none: that of the earlier calls of its process, or a new one with its id. */
  infer(call: InferredCall): string;
  /** Returns the same session when the call begins. A new one gets the id that `newId` creates. */
  begin(call: Pick<InferredCall, "process" | "startedAt">, newId: () => string): string;
}

/** A call that states no session. */
export interface InferredCall {
  /** The calling process: calls with the same key and without a long pause are one session. */
  readonly process: string;
  /** The id of a new session. */
  readonly requestId: string;
  readonly startedAt: Millis;
  readonly endedAt: Millis;
}

/** Creates a tracker without any sessions. */
export function createSessionTracker(): SessionTracker {
  /** The sessions that users started, by the ids of their sub-agents. */
  const roots = new Map<string, string>();
  /** The latest inferred session of each process. */
  const inferred = new Map<string, { readonly id: string; readonly lastAt: Millis }>();
  return {
    resolve(identity) {
      const { sessionId, agentId, isChildSession } = identity;
      if (!isChildSession || sessionId === null || agentId === null) return identity;
      const root = roots.get(sessionId) ?? null;
      remember(roots, agentId, root ?? sessionId);
      // A client that names each of two sessions as the other's parent states no order.
      return root === null || root === agentId
        ? identity
        : { ...identity, sessionId: root, parentAgentId: sessionId };
    },
    infer: ({ requestId, ...call }) => continueSession(inferred, call, () => requestId),
    begin: ({ process, startedAt }, newId) =>
      continueSession(inferred, { process, startedAt, endedAt: startedAt }, newId),
  };
}

function continueSession(
  inferred: Map<string, { readonly id: string; readonly lastAt: Millis }>,
  { process, startedAt, endedAt }: Omit<InferredCall, "requestId">,
  newId: () => string,
): string {
  const known = inferred.get(process);
  const continues = known !== undefined && startedAt - known.lastAt <= SESSION_GAP_MS;
  const id = continues ? known.id : newId();
  const lastAt = continues ? Math.max(known.lastAt, endedAt) : endedAt;
  remember(inferred, process, { id, lastAt });
  return id;
}

/** Sets an entry. If there are too many, deletes the one that was set least recently. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_TRACKED && oldest !== undefined) map.delete(oldest);
}
