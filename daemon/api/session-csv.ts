import type { AgentNode } from "../../core/metering/sessions/session-tree.ts";
import { formatPicoUsd } from "../../core/pricing/money.ts";
import type { CsvValue } from "../../core/values/text/format-csv-field.ts";
import type { SessionSummary } from "../store/port/sessions.ts";
import { callJson, sessionJson, type TreeRequest } from "./session-json.ts";

/** The columns of a file, and its rows. */
export type CsvTable = [columns: readonly string[], rows: readonly (readonly CsvValue[])[]];

/** Returns sessions as a table. Costs are in USD. */
export function sessionsTable(sessions: readonly SessionSummary[]): CsvTable {
  const usd = (picoUsd: bigint | string) => formatPicoUsd(BigInt(picoUsd));
  const items = sessions.map((session) => {
    const { cost_pico_usd, spent_pico_usd, plan_usage_pico_usd, unknown_billing_pico_usd, ...item } =
      sessionJson(session);
    return {
      ...item,
      cost_usd: usd(cost_pico_usd),
      spent_usd: usd(spent_pico_usd),
      plan_usage_usd: usd(plan_usage_pico_usd),
      unknown_billing_usd: usd(unknown_billing_pico_usd),
    };
  });
  return toTable(items, [
    ...(["session_id", "session_source", "project", "client", "client_version", "git_branch"] as const),
    ...([
      "started_at",
      "ended_at",
      "duration_ms",
      "agents",
      "requests",
      "errors",
      "blocked",
      "unpriced",
    ] as const),
    "requests_from_logs",
    ...(["incomplete", "prompt_tokens", "cache_read_tokens", "cache_write_tokens"] as const),
    ...(["completion_tokens", "thinking_tokens", "cache_permille"] as const),
    ...(["cost_usd", "spent_usd", "plan_usage_usd", "unknown_billing_usd"] as const),
  ]);
}

type Node = AgentNode<TreeRequest>;

const listNodes = (node: Node): Node[] => [node, ...node.children.flatMap(listNodes)];

/** Returns the calls of a session as a table, agent by agent. */
export function callsTable(tree: Node): CsvTable {
  const items = listNodes(tree).flatMap((node) =>
    node.calls.map((call) => ({
      agent_id: node.agentId,
      agent_kind: node.kind,
      parent_agent_id: call.request.parentAgentId,
      ...callJson(call),
    })),
  );
  return toTable(items, [
    ...(["request_id", "requested_at", "agent_id", "parent_agent_id", "agent_kind", "turn_id"] as const),
    ...(["provider", "model", "input_tokens", "cache_permille", "output_tokens", "cost_usd"] as const),
    ...(["billing_mode", "wait_ms", "stream_ms", "http_status", "error_class"] as const),
    ...(["follows_compaction", "record_source"] as const),
  ]);
}

const toTable = <Name extends string>(
  items: readonly { readonly [Key in Name]: CsvValue }[],
  columns: readonly Name[],
): CsvTable => [columns, items.map((item) => columns.map((name) => item[name]))];
