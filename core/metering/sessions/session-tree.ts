import type { RequestRecord } from "../../values/record.ts";
import { totalInputTokens } from "../../values/token-totals.ts";

/** The fields of a request that the tree is built from. */
export type SessionRequest = Pick<
  RequestRecord,
  "requestedAt" | "model" | "tokens" | "agentId" | "parentAgentId" | "agentKind"
>;

/** An agent of a session with its calls, oldest first, and the agents that it started, in the order of their first calls. */
export interface AgentNode<Request extends SessionRequest> {
  /** Null: the main agent. */
  readonly agentId: string | null;
  readonly kind: string | null;
  readonly calls: readonly SessionCall<Request>[];
  readonly children: readonly AgentNode<Request>[];
  /** The most input tokens of a call, with those of caches. Null if no call states them. */
  readonly peakContext: number | null;
  /** How often the context was compacted. */
  readonly compactions: number;
}

/** One call of an agent. */
export interface SessionCall<Request extends SessionRequest> {
  readonly request: Request;
  /** All input tokens, with those of caches. */
  readonly context: number | null;
  /** Whether the context had been compacted before this call. */
  readonly followsCompaction: boolean;
}

interface OpenNode<Request extends SessionRequest> {
  readonly agentId: string | null;
  parentId: string | null;
  kind: string | null;
  readonly requests: Request[];
  readonly children: OpenNode<Request>[];
}

/** The deepest level of agents. Deeper ones, and those whose parents form a circle, are shown below the main agent. */
const MAX_DEPTH = 64;

/** The smallest context whose shrinking counts as a compaction, in tokens. Helper calls have less. */
const MIN_COMPACTED_TOKENS = 10_000;

/**
 * Arranges the requests of a session, oldest first, in a tree of its agents. An agent whose parent made no call is a child of
 * the main agent, which is the root even without calls.
 */
export function buildSessionTree<Request extends SessionRequest>(
  requests: readonly Request[],
): AgentNode<Request> {
  const nodes = new Map<string | null, OpenNode<Request>>();
  const root: OpenNode<Request> = { agentId: null, parentId: null, kind: null, requests: [], children: [] };
  nodes.set(null, root);
  for (const request of requests) {
    const { agentId, parentAgentId, agentKind } = request;
    let node = nodes.get(agentId);
    if (node === undefined) {
      node = { agentId, parentId: null, kind: null, requests: [], children: [] };
      nodes.set(agentId, node);
    }
    node.requests.push(request);
    if (node === root) continue;
    node.parentId ??= parentAgentId;
    node.kind ??= agentKind;
  }
  for (const node of nodes.values()) {
    if (node === root) continue;
    const parent = nodes.get(node.parentId) ?? root;
    (isBelowRoot(node, nodes) ? parent : root).children.push(node);
  }
  return toAgentNode(root);
}

/** Whether the node's ancestors lead to the main agent. */
function isBelowRoot<Request extends SessionRequest>(
  node: OpenNode<Request>,
  nodes: ReadonlyMap<string | null, OpenNode<Request>>,
): boolean {
  let at: OpenNode<Request> | undefined = node;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    if (at.parentId === null) return true;
    at = nodes.get(at.parentId);
    if (at === undefined) return true;
  }
  return false;
}

function toAgentNode<Request extends SessionRequest>(node: OpenNode<Request>): AgentNode<Request> {
  const contexts = node.requests.map(({ tokens }) => totalInputTokens(tokens));
  const compacted = findCompactions(node.requests, contexts);
  return {
    agentId: node.agentId,
    kind: node.kind,
    calls: node.requests.map((request, index) => ({
      request,
      context: contexts[index] as number | null,
      followsCompaction: compacted.has(index),
    })),
    children: node.children.map(toAgentNode),
    peakContext: contexts.reduce(
      (peak, each) => (each === null || (peak !== null && peak >= each) ? peak : each),
      null,
    ),
    compactions: compacted.size,
  };
}

/**
 * Finds the calls before which the context was compacted: it shrank to less than half, and stayed so in the next call with the
 * same model. Calls with other models are helper calls, such as one for a title. Clients state compactions in different ways or
 * not at all.
 */
function findCompactions(
  requests: readonly SessionRequest[],
  contexts: readonly (number | null)[],
): ReadonlySet<number> {
  const byModel = new Map<string, { index: number; context: number }[]>();
  for (const [index, { model }] of requests.entries()) {
    const context = contexts[index] ?? null;
    if (context === null) continue;
    const known = byModel.get(model);
    if (known === undefined) byModel.set(model, [{ index, context }]);
    else known.push({ index, context });
  }
  const found = new Set<number>();
  for (const calls of byModel.values()) {
    for (const [at, { index, context }] of calls.entries()) {
      const before = calls[at - 1]?.context ?? 0;
      const after = calls[at + 1]?.context ?? before;
      if (before >= MIN_COMPACTED_TOKENS && context * 2 < before && after * 2 < before) found.add(index);
    }
  }
  return found;
}
