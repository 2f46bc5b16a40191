import { html } from "hono/html";
import {
  type AgentNode,
  buildSessionTree,
  type SessionCall,
} from "../../core/metering/sessions/session-tree.ts";
import { COST_PARTS } from "../../core/pricing/cost-split.ts";
import { formatCount } from "../../core/values/text/format-count.ts";
import { formatDuration } from "../../core/values/text/format-duration.ts";
import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { totalOutputTokens } from "../../core/values/token-totals.ts";
import { type LaneCall, renderLane } from "../chart/lane.ts";
import { renderLine } from "../chart/line.ts";
import { renderMeter } from "../chart/meter.ts";
import { formatSpan, renderShare, renderShortCount, renderUsd } from "../figures.ts";
import { renderSwitch, renderViewNotices } from "../filters.ts";
import { formatShortCount, formatShortUsd } from "../formats.ts";
import type { Html } from "../html.ts";
import { renderName } from "../names.ts";
import { renderUnread } from "../page-parts.ts";
import { type PagePlace, pageHref } from "../page-place.ts";
import { renderState } from "../states.ts";
import { formatDateTime, formatTimeOfDay, renderTime } from "../times.ts";
import { type View, type ViewSpec, viewHref } from "../view.ts";
import { requestHref } from "./links.ts";
import { cacheShare, renderOutcome, renderRequestCost } from "./request-parts.ts";
import type { SessionLine } from "./sessions.ts";
import type { ShownRequest } from "./shown-request.ts";

/** The view of one session. */
export const sessionView = (path: string): ViewSpec => ({
  path,
  keys: { view: ["tree", "time", "cost"], page: [] },
  filters: [],
});

export interface SessionAnswer {
  readonly session: SessionLine;
  /** Its requests, the oldest first; not all of them if it has very many. Null if they could not be read. */
  readonly requests: readonly ShownRequest[] | null;
}

/** The heading of a session's page, by which its tab is told from those of others. */
export const sessionHeading = ({ startedAt }: SessionLine, { zone }: PagePlace): string =>
  `Session of ${formatDateTime(startedAt, zone)}`;

/** The rows of one page. */
const PAGE_ROWS = 100;

type Node = AgentNode<ShownRequest>;
type Call = SessionCall<ShownRequest>;

/** An agent with its place in the tree. */
interface Agent {
  readonly node: Node;
  readonly depth: number;
  readonly name: string;
}

interface NumberedCall extends Call {
  readonly agent: Agent;
  readonly number: number;
}

/** Renders one session: its cost by agent, its calls in time, and how its context grew. */
export function renderSession({ session, requests }: SessionAnswer, view: View, place: PagePlace): Html {
  if (requests === null)
    return html`${renderViewNotices(view)}${renderFigures(session, null, place)}${renderUnread("requests of the session")}`;
  const agents = flatten(buildSessionTree(requests));
  const numbers = new Map(requests.map(({ requestId }, index) => [requestId, index + 1]));
  const calls = agents.flatMap((agent) =>
    agent.node.calls.map((call) => ({ ...call, agent, number: numbers.get(call.request.requestId) ?? 0 })),
  );
  return html`${renderViewNotices(view)}
    ${requests.length < session.calls ? html`<div class="notice" role="note">${`Only the first ${formatCount(requests.length)} of ${formatCount(session.calls)} calls are listed. The figures below are of all calls, those of agents of the listed ones.`}</div>` : ""}
    ${renderFigures(session, agents, place)}
    ${agents.length > 1 ? renderAgents(agents) : ""}
    ${renderContext(agents)}
    <section class="panel" aria-labelledby="calls-title">
      <div class="head"><h2 id="calls-title">Calls</h2>${renderSwitch(view, "view", "Order of calls", ORDERS)}</div>
      ${renderCalls(calls, session, view, place)}
    </section>`;
}

const ORDERS = [
  { value: "tree", name: "By agent" },
  { value: "time", name: "By time" },
  { value: "cost", name: "By cost" },
];

function flatten(node: Node, depth = 0): Agent[] {
  const name = node.agentId === null ? "main" : (node.kind ?? node.agentId.slice(0, 8));
  return [{ node, depth, name }, ...node.children.flatMap((child) => flatten(child, depth + 1))];
}

const renderOwner = ({ client, sender }: SessionLine): Html =>
  sender === undefined
    ? renderName(client)
    : html`${renderName(sender.person)} on ${renderName(sender.machine)}`;

function renderFigures(session: SessionLine, agents: readonly Agent[] | null, place: PagePlace): Html {
  const { split, calls, failed, blocked, unpriced, startedAt, endedAt, cached } = session;
  const tile = (name: string, value: Html | string, note: Html | string) =>
    html`<div><dt>${name}</dt><dd class="value">${value}</dd><dd>${note}</dd></div>`;
  const parts = COST_PARTS.filter(({ part }, n) =>
    n === 0 ? split.planUsagePicoUsd === 0n || split[part] > 0n : split[part] > 0n,
  );
  const compactions = agents?.reduce((sum, { node }) => sum + node.compactions, 0) ?? 0;
  const ofCalls = failed === 0 ? html`none failed` : html`<span class="bad">${failed} failed</span>`;
  return html`<p class="quiet" data-summary>${renderOwner(session)} in ${renderName(session.project)}${session.branch === null ? "" : html` on <bdi>${session.branch}</bdi>`}, ${renderTime(startedAt, place, true)} to ${formatTimeOfDay(endedAt, place.zone)} (${place.zone})${session.isInferred ? "; the calls of one process, because the program names no session" : ""}</p>
  <dl class="figures">
    ${parts.map(({ part, label }) => tile(label, renderUsd(split[part]), part === "planUsagePicoUsd" ? "at API prices, not spent" : unpriced > 0 ? `without ${formatQuantity(unpriced, "unpriced call")}` : "all calls priced"))}
    ${tile("Calls", calls.toLocaleString("en"), blocked === 0 ? ofCalls : html`${ofCalls}, ${blocked} refused by budgets`)}
    ${tile("Length", formatSpan(endedAt - startedAt), agents === null ? "" : formatQuantity(agents.length - 1, "sub-agent"))}
    ${tile("Input from caches", cached === null ? "–" : renderShare(cached.read, cached.input), agents === null ? "" : compactions === 0 ? "no compaction" : formatQuantity(compactions, "compaction"))}
  </dl>`;
}

const sumCost = (calls: readonly Call[]): bigint =>
  calls.reduce((sum, { request }) => sum + (request.costPicoUsd ?? 0n), 0n);

function renderAgents(agents: readonly Agent[]): Html {
  const costs = agents.map(({ node }) => sumCost(node.calls));
  const whole = costs.reduce((sum, cost) => sum + cost, 0n);
  return html`<section class="panel" aria-labelledby="agents-title"><div class="head"><h2 id="agents-title">Agents</h2><span class="quiet">costs at API prices, whoever pays</span></div>
    <div class="scroll"><table aria-label="Agents">
    <thead><tr><th scope="col">Agent</th><th scope="col" class="share desk">Share</th><th scope="col" class="num">Calls</th><th scope="col" class="num desk">Largest context</th><th scope="col" class="num">Cost</th></tr></thead>
    <tbody>${agents.map(
      ({ node, depth, name }, index) =>
        html`<tr><th scope="row" class="name">${"\u00a0\u00a0".repeat(Math.min(depth, 8))}${depth > 0 ? "└ " : ""}<bdi>${name}</bdi></th><td class="share desk">${renderMeter({ percent: whole === 0n ? 0 : Number(((costs[index] ?? 0n) * 1_000n) / whole) / 10 })}</td><td class="num">${node.calls.length}</td><td class="num desk">${renderShortCount(node.peakContext)}</td><td class="num">${renderUsd(costs[index] ?? 0n)}</td></tr>`,
    )}</tbody>
    <tfoot><tr><th scope="row">Total</th><td class="desk"></td><td class="num">${agents.reduce((sum, { node }) => sum + node.calls.length, 0)}</td><td class="desk"></td><td class="num">${renderUsd(whole)}</td></tr></tfoot>
    </table></div></section>`;
}

/** The most points of a line. */
const MAX_POINTS = 400;

function renderContext(agents: readonly Agent[]): Html | "" {
  const [main] = agents;
  const contexts = (main?.node.calls ?? []).flatMap(({ context }) => (context === null ? [] : [context]));
  if (contexts.length < 3) return "";
  const step = Math.ceil(contexts.length / MAX_POINTS);
  const points = contexts.filter((_, index) => index % step === 0);
  const { compactions = 0 } = main?.node ?? {};
  return html`<section class="panel" aria-labelledby="context-title"><div class="head"><h2 id="context-title">Context of the main agent, by call</h2><span class="quiet">${formatShortCount(contexts[0] ?? 0)} to ${formatShortCount(contexts.at(-1) ?? 0)} tokens, at most ${formatShortCount(Math.max(...contexts))}${compactions === 0 ? "" : `, ${formatQuantity(compactions, "compaction")}`}</span></div>
    <figure class="chart" aria-label="Context of the main agent">${renderLine(points, formatShortCount)}</figure></section>`;
}

/** The pause after which caches of providers are usually gone, in milliseconds. */
const CACHE_LIFE_MS = 300_000;

/** The smallest context whose cache is missed, in tokens. */
const MIN_CONTEXT = 10_000;

/** Explains a call that read little from the cache although its agent had a context that was not compacted. */
function describeMiss(
  { request, context, followsCompaction }: Call,
  before: Call | undefined,
): string | null {
  if (before === undefined || Math.min(context ?? 0, before.context ?? 0) < MIN_CONTEXT) return null;
  const read = request.tokens.cacheReadTokens ?? 0;
  if (read * 2 >= Math.min(context ?? 0, before.context ?? 0)) return null;
  const idleMs = request.requestedAt - before.request.requestedAt - (before.request.latencyMs ?? 0);
  if (idleMs > CACHE_LIFE_MS) return `cache miss after ${formatSpan(idleMs)} idle`;
  // A model without a cache has nothing to miss.
  const { cacheReadTokens, cacheWriteTokens } = before.request.tokens;
  const hasCache = (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0) > 0;
  return hasCache && !followsCompaction ? "cache miss" : null;
}

function renderCalls(
  calls: readonly NumberedCall[],
  session: SessionLine,
  view: View,
  place: PagePlace,
): Html {
  const sorted =
    view.values.view === "tree"
      ? calls
      : calls.toSorted(
          view.values.view === "cost"
            ? (one, other) => Number((other.request.costPicoUsd ?? 0n) - (one.request.costPicoUsd ?? 0n))
            : (one, other) => one.number - other.number,
        );
  const page = Math.max(1, Math.min(Math.ceil(calls.length / PAGE_ROWS), Number(view.values.page) || 1));
  const shown = sorted.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS);
  const highest = calls.reduce(
    (most, { request }) => ((request.costPicoUsd ?? 0n) > most ? (request.costPicoUsd ?? 0n) : most),
    0n,
  );
  const misses = findMisses(calls);
  let last: Agent | null = null;
  const rows = shown.map((call) => {
    const heading = view.values.view === "tree" && call.agent !== last;
    last = call.agent;
    return html`${heading ? renderAgentRow(call.agent) : ""}${renderCall(call, session, view.values.view === "cost" ? highest : null, misses.get(call.number) ?? null, place)}`;
  });
  const link = (to: number, text: string) =>
    html`<a href="${viewHref(view, { values: { page: String(to) } })}">${text}</a>`;
  return html`<div class="scroll"><table aria-label="Calls">
    <thead><tr><th scope="col">Call</th><th scope="col" class="desk">Model</th><th scope="col" class="num desk">In</th><th scope="col" class="num wide">Cached</th><th scope="col" class="num desk">Out</th><th scope="col" class="num">Cost</th><th scope="col" class="lane">${view.values.view === "cost" ? "Cost" : "Waiting and streaming"}</th></tr></thead>
    <tbody>${rows}</tbody></table></div>
    ${calls.length <= PAGE_ROWS ? "" : html`<nav class="pages" aria-label="Pages of calls">${page > 1 ? link(page - 1, "Previous") : html`<span></span>`}<span class="quiet">${(page - 1) * PAGE_ROWS + 1} to ${Math.min(page * PAGE_ROWS, calls.length)} of ${calls.length}</span>${page * PAGE_ROWS < calls.length ? link(page + 1, "Next") : html`<span></span>`}</nav>`}`;
}

/** Returns the misses of caches by the number of the call. Calls with other models are helper calls, whose caches are their own. */
function findMisses(calls: readonly NumberedCall[]): ReadonlyMap<number, string> {
  const misses = new Map<number, string>();
  const latest = new Map<Node, Map<string, Call>>();
  for (const call of calls) {
    const { node } = call.agent;
    const byModel = latest.get(node) ?? new Map<string, Call>();
    const miss = describeMiss(call, byModel.get(call.request.model));
    if (miss !== null) misses.set(call.number, miss);
    latest.set(node, byModel.set(call.request.model, call));
  }
  return misses;
}

const renderAgentRow = ({ node, depth, name }: Agent): Html =>
  html`<tr><th scope="rowgroup" colspan="7"><strong>${depth > 0 ? "└ " : ""}<bdi>${name}</bdi></strong> <span class="quiet">${formatQuantity(node.calls.length, "call")}, ${formatShortUsd(sumCost(node.calls))}</span></th></tr>`;

function renderCall(
  call: NumberedCall,
  session: SessionLine,
  highest: bigint | null,
  miss: string | null,
  place: PagePlace,
): Html {
  const { request, context, followsCompaction, number } = call;
  const { requestId, model, tokens, errorClass } = request;
  const notes = [...(followsCompaction ? ["context compacted"] : []), ...(miss === null ? [] : [miss])];
  const lane =
    highest === null
      ? renderLane([laneOf(request, session)])
      : renderMeter({
          percent: highest === 0n ? 0 : Number(((request.costPicoUsd ?? 0n) * 1_000n) / highest) / 10,
        });
  return html`<tr id="r-${requestId}"><th scope="row" class="when line"><a href="${requestHref(place, requestId)}">#${number}</a> <span class="quiet">${formatTimeOfDay(request.requestedAt, place.zone, true)}</span>${notes.length === 0 ? "" : html`<span class="sub warn">${notes.join(", ")}</span>`}</th><td class="name desk">${renderName(model)}</td><td class="num desk">${renderShortCount(context)}</td><td class="num wide">${cacheShare(request) ?? "–"}</td><td class="num desk">${renderShortCount(totalOutputTokens(tokens))}</td><td class="num">${errorClass === null ? renderRequestCost(request) : renderOutcome(request)}</td><td class="lane">${lane}</td></tr>`;
}

function laneOf(
  { requestedAt, latencyMs, ttfbMs, errorClass }: ShownRequest,
  { startedAt, endedAt }: SessionLine,
): LaneCall {
  const length = Math.max(1, endedAt - startedAt);
  const wait = ttfbMs === null ? "" : `, first byte after ${formatDuration(ttfbMs)}`;
  return {
    start: Math.max(0, (requestedAt - startedAt) / length),
    length: (latencyMs ?? 0) / length,
    waiting: ttfbMs === null || latencyMs === null || latencyMs === 0 ? 0 : ttfbMs / latencyMs,
    failed: errorClass !== null,
    ...(latencyMs !== null && { tip: `${formatDuration(latencyMs)}${wait}` }),
  };
}

/** The page of an unknown session. */
export const renderNoSession = ({ base }: Pick<PagePlace, "base">): Html =>
  renderState(
    "There is no session with this ID",
    "Its requests may have been deleted.",
    html`<p><a href="${pageHref(base, "/sessions")}">All sessions</a></p>`,
  );
