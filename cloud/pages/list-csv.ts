import type * as v from "valibot";
import { formatPicoUsd } from "../../core/pricing/money.ts";
import { formatCsvLine } from "../../core/values/text/format-csv-field.ts";
import type { machinesSchema } from "../../core/wire/people.ts";
import type { WorkspaceSession } from "../../core/wire/sessions.ts";
import type { TraceSummary } from "../../core/wire/traces.ts";

type Value = string | number | boolean | null | undefined;

/** Columns, each with its value of an item. */
type Columns<Item> = readonly (readonly [name: string, read: (item: Item) => Value])[];

const usdOf = (picoUsd: string | null | undefined): string | null =>
  picoUsd == null ? null : formatPicoUsd(BigInt(picoUsd));

/** The columns of requests, in the order of a machine's own file where both have them. */
const TRACE_COLUMNS: Columns<TraceSummary> = [
  ["request_id", (trace) => trace.request_id],
  ["requested_at", (trace) => trace.requested_at],
  ["project", (trace) => trace.project],
  ["person", ({ user }) => user?.name],
  ["machine", ({ machine }) => machine?.hostname],
  ["provider", (trace) => trace.provider],
  ["model", (trace) => trace.model],
  ["request_kind", (trace) => trace.request_kind],
  ["streaming", (trace) => trace.streaming],
  ["prompt_tokens", (trace) => trace.prompt_tokens],
  ["cache_read_tokens", (trace) => trace.cache_read_tokens],
  ["cache_write_tokens", (trace) => trace.cache_write_tokens],
  ["completion_tokens", (trace) => trace.completion_tokens],
  ["thinking_tokens", (trace) => trace.thinking_tokens],
  ["tokens_complete", (trace) => trace.tokens_complete],
  ["cost_usd", (trace) => usdOf(trace.cost_pico_usd)],
  ["billing_mode", (trace) => trace.billing_mode],
  ["http_status", (trace) => trace.http_status],
  ["error_class", (trace) => trace.error_class],
  ["latency_ms", (trace) => trace.latency_ms],
  ["ttfb_ms", (trace) => trace.ttfb_ms],
];

/** The columns of sessions, in the order of a machine's own file where both have them. */
const SESSION_COLUMNS: Columns<WorkspaceSession> = [
  ["session_id", (session) => session.session_id],
  ["session_source", (session) => session.session_source],
  ["project", (session) => session.project],
  ["person", ({ user }) => user.name],
  ["machine", ({ machine }) => machine?.hostname],
  ["client_version", (session) => session.client_version],
  ["git_branch", (session) => session.git_branch],
  ["started_at", (session) => session.started_at],
  ["ended_at", (session) => session.ended_at],
  ["agents", (session) => session.agents],
  ["requests", (session) => session.requests],
  ["failed_requests", (session) => session.failed_requests],
  ["unpriced_requests", (session) => session.unpriced_requests],
  ["incomplete_requests", (session) => session.incomplete_requests],
  ["input_tokens", (session) => session.input_tokens],
  ["cache_read_tokens", (session) => session.cache_read_tokens],
  ["spent_usd", (session) => usdOf(session.spent_pico_usd)],
  ["plan_usage_usd", (session) => usdOf(session.plan_usage_pico_usd)],
  ["unknown_billing_usd", (session) => usdOf(session.unknown_billing_pico_usd)],
];

/** A machine with its coverage; null if it is not known. */
export type MachineItem = v.InferOutput<typeof machinesSchema>["items"][number] & {
  readonly coverage: {
    readonly metered: number;
    readonly seen: number;
    readonly queued: number | null;
  } | null;
};

const MACHINE_COLUMNS: Columns<MachineItem> = [
  ["machine_id", (machine) => machine.id],
  ["hostname", (machine) => machine.hostname],
  ["name", (machine) => machine.name],
  ["platform", (machine) => machine.platform],
  ["daemon_version", (machine) => machine.daemon_version],
  ["person", ({ user }) => user?.name],
  ["created_at", (machine) => machine.created_at],
  ["last_seen_at", (machine) => machine.last_seen_at],
  ["blocked_at", (machine) => machine.blocked_at],
  ["metered", ({ coverage }) => coverage?.metered],
  ["seen", ({ coverage }) => coverage?.seen],
  ["queued", ({ coverage }) => coverage?.queued],
];

function toCsv<Item>(columns: Columns<Item>, items: readonly Item[]): string {
  const rows = items.map((item) => columns.map(([, read]) => read(item) ?? null));
  return [columns.map(([name]) => name), ...rows].map(formatCsvLine).join("");
}

/** Formats requests as CSV (RFC 4180) with a header line. Unknown values are empty. */
export const tracesCsv = (traces: readonly TraceSummary[]): string => toCsv(TRACE_COLUMNS, traces);

/** Formats sessions as CSV. */
export const sessionsCsv = (sessions: readonly WorkspaceSession[]): string =>
  toCsv(SESSION_COLUMNS, sessions);

/** Formats machines as CSV. */
export const machinesCsv = (machines: readonly MachineItem[]): string => toCsv(MACHINE_COLUMNS, machines);
