import { UsageError } from "clipanion";
import {
  type AgentNode,
  buildSessionTree,
  type SessionCall,
} from "../../../core/metering/sessions/session-tree.ts";
import { addToSplit, type CostSplit, describeSplit, NO_COST } from "../../../core/pricing/cost-split.ts";
import { isUnpriced } from "../../../core/pricing/unpriced.ts";
import { effectiveBilling } from "../../../core/values/billing.ts";
import { UNKNOWN } from "../../../core/values/text/format-count.ts";
import { formatDuration } from "../../../core/values/text/format-duration.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { totalOutputTokens } from "../../../core/values/token-totals.ts";
import { callsTable } from "../../../daemon/api/session-csv.ts";
import {
  agentJson,
  cachePermille,
  requestCachePermille,
  sessionJson,
  streamMs,
  type TreeRequest,
} from "../../../daemon/api/session-json.ts";
import type { SessionSummary } from "../../../daemon/store/port/sessions.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { formatPermille, formatShortCount } from "../../../pages/formats.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { METER_A_PROGRAM } from "../../program/failures.ts";
import { renderCsvTable } from "../../render/csv-table.ts";
import { formatSpan } from "../../render/format-span.ts";
import { formatTime } from "../../render/format-time.ts";
import { labelled } from "../../render/labelled.ts";
import { printable } from "../../render/printable.ts";
import { fixedUsd } from "../../render/report.ts";
import { type Column, renderTable } from "../../render/table.ts";
import { fromLogsNote } from "./list-sessions.ts";

/** The options of `meter session`. */
export interface ShowSessionOptions {
  readonly id: string;
  readonly agents: boolean;
  readonly utc: boolean;
  readonly json: boolean;
  readonly csv: boolean;
}

type Node = AgentNode<TreeRequest>;

/** The most requests of a session that are shown. */
const MAX_REQUESTS = 50_000;

/** Shows one session with its agents and calls. */
export async function showSession(context: CommandContext, options: ShowSessionOptions): Promise<void> {
  if (options.json && options.csv) throw new UsageError("--json and --csv can't be combined.");
  await withStore(context.home, { readOnly: true }, async (store) => {
    const session = findSession(store, options.id);
    const tree = buildSessionTree(store.sessions.requests(session.sessionId, MAX_REQUESTS));
    if (options.json) return context.printJson({ ...sessionJson(session), tree: agentJson(tree) });
    if (options.csv) return context.stdout.write(renderCsvTable(...callsTable(tree)));
    const lines = [...headLines(session, tree, context.width, options.utc)];
    for (const { node, depth } of flatten(tree)) lines.push("", ...agentLines(node, depth, context, options));
    if (session.usage.requests > MAX_REQUESTS)
      lines.push("", `Only the first ${MAX_REQUESTS} calls are shown.`);
    context.print(lines.join("\n"));
  });
}

function findSession({ sessions }: Store, text: string): SessionSummary {
  const found = sessions.find(text);
  if (found.kind === "ambiguous")
    throw new CommandFailure(
      `Several sessions begin with ${printable(text)}. Use a longer prefix:\n${found.sessionIds.map((id) => `  ${printable(id)}`).join("\n")}`,
      exitCodes.notFound,
    );
  const session = found.kind === "found" ? sessions.summarise(found.sessionId) : null;
  if (session === null)
    throw new CommandFailure(
      text === "last"
        ? `There are no sessions yet.\n${METER_A_PROGRAM}`
        : `No session begins with ${printable(text)}.\nList the sessions: meter sessions`,
      exitCodes.notFound,
    );
  return session;
}

/** Lists an agent and the agents below it, each with its depth. */
function flatten(node: Node, depth = 0): { readonly node: Node; readonly depth: number }[] {
  return [{ node, depth }, ...node.children.flatMap((child) => flatten(child, depth + 1))];
}

const LABEL_WIDTH = 10;

function headLines(session: SessionSummary, tree: Node, width: number, utc: boolean): string[] {
  const { usage, source, client, clientVersion, branch } = session;
  const add = (label: string, text: string) => labelled(label, printable(text), LABEL_WIDTH, width);
  const program = [client, clientVersion].filter((each) => each !== null).join(" ");
  const cached = cachePermille(usage.tokens);
  const compactions = flatten(tree).reduce((sum, { node }) => sum + node.compactions, 0);
  const counts = [
    formatQuantity(usage.requests, "call"),
    ...(usage.errors > 0 ? [`${usage.errors} failed`] : []),
    ...(usage.blocked > 0 ? [`${usage.blocked} refused by budgets`] : []),
    formatQuantity(session.agents, "sub-agent"),
    ...(compactions > 0 ? [formatQuantity(compactions, "compaction")] : []),
    ...(cached === null ? [] : [`${formatPermille(cached)} of the input read from a cache`]),
  ];
  const note = source === "inferred" ? " (the calls of one process; the program names no session)" : "";
  return [
    add("session", `${session.sessionId}${note}`),
    ...(program === "" ? [] : [add("client", program)]),
    add("project", branch === null ? session.project : `${session.project}, branch ${branch}`),
    add(
      "time",
      `${formatTime(session.startedAt, utc)} to ${formatTime(session.endedAt, utc)}${utc ? " UTC" : ""}, ${formatSpan(session.endedAt - session.startedAt)}`,
    ),
    add("cost", describeSplit(usage.split, fixedUsd)),
    add("calls", counts.join(", ")),
    ...(session.fromLogs > 0 ? [add("", fromLogsNote(session.fromLogs, usage.requests))] : []),
    ...(usage.unpriced > 0
      ? [add("", `${formatQuantity(usage.unpriced, "call")} without a known price; the cost excludes it.`)]
      : []),
  ];
}

function agentLines(
  node: Node,
  depth: number,
  context: CommandContext,
  options: ShowSessionOptions,
): string[] {
  const { calls, peakContext, compactions } = node;
  const indent = "  ".repeat(depth);
  const split = calls.reduce(addCost, NO_COST);
  const title = node.agentId === null ? "Main agent" : `Agent ${node.agentId}`;
  const facts = [
    node.kind === null ? title : `${title} (${node.kind})`,
    formatQuantity(calls.length, "call"),
    describeSplit(split, fixedUsd),
    ...(peakContext === null ? [] : [`context up to ${formatShortCount(peakContext)}`]),
    ...(compactions === 0 ? [] : [formatQuantity(compactions, "compaction")]),
  ];
  const heading = `${indent}${printable(facts.join(" · "))}`;
  if (options.agents || calls.length === 0) return [heading];
  const rows = calls.map(cellsOf(options.utc));
  const columns = rows.some((row) => row.at(-1) !== "") ? [...COLUMNS, { title: "note" }] : COLUMNS;
  const table = renderTable(columns, rows, context.width - indent.length);
  return [heading, ...table.split("\n").map((line) => indent + line)];
}

const addCost = (split: CostSplit, { request }: SessionCall<TreeRequest>): CostSplit =>
  addToSplit(split, effectiveBilling(request), request.costPicoUsd ?? 0n);

const COLUMNS: readonly Column[] = [
  { title: "time" },
  { title: "model", shrink: true },
  ...["input", "cached", "output", "cost", "wait", "stream"].map((title) => ({
    title,
    align: "right" as const,
  })),
];

const cellsOf =
  (utc: boolean) =>
  ({ request, context, followsCompaction }: SessionCall<TreeRequest>): string[] => {
    const cached = requestCachePermille(request);
    const stream = streamMs(request);
    const notes = [
      ...(request.errorClass === null ? [] : [request.errorClass]),
      ...(request.agentId === null && request.agentKind !== null ? [request.agentKind] : []),
      ...(followsCompaction ? ["compacted"] : []),
      ...(request.recordSource === "logs" ? ["from logs"] : []),
    ];
    return [
      formatTime(request.requestedAt, utc).slice(11),
      request.model,
      formatShortCount(context),
      cached === null ? UNKNOWN : formatPermille(cached),
      formatShortCount(totalOutputTokens(request.tokens)),
      formatCost(request),
      request.ttfbMs === null ? UNKNOWN : formatDuration(request.ttfbMs),
      stream === null ? UNKNOWN : formatDuration(stream),
      notes.join(", "),
    ];
  };

function formatCost(request: TreeRequest): string {
  if (request.costPicoUsd === null) return isUnpriced(request) ? "unpriced" : UNKNOWN;
  const amount = fixedUsd(request.costPicoUsd);
  return effectiveBilling(request) === "plan" ? `plan ${amount}` : amount;
}
