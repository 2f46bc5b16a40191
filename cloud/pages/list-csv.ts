import type * as v from "valibot";
import { formatPicoUsd } from "../../core/pricing/money.ts";
import type { FleetBudget } from "../../core/wire/fleet-budgets.ts";
import type { Invitations, Keys, Members, machinesSchema } from "../../core/wire/people.ts";
import type { WorkspacePrivacy } from "../../core/wire/privacy.ts";
import type { WorkspaceSession } from "../../core/wire/sessions.ts";
import type { TraceSummary } from "../../core/wire/traces.ts";
import { formatExactAmount } from "../../pages/limits-file.ts";
import { type Columns, formatColumns } from "../../pages/page-file.ts";

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
  ["blocked_requests", (session) => session.blocked_requests],
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

/** Formats requests as CSV (RFC 4180) with a header line. Unknown values are empty. */
export const tracesCsv = (traces: readonly TraceSummary[]): string => formatColumns(TRACE_COLUMNS, traces);

/** Formats sessions as CSV. */
export const sessionsCsv = (sessions: readonly WorkspaceSession[]): string =>
  formatColumns(SESSION_COLUMNS, sessions);

/** Formats machines as CSV. */
export const machinesCsv = (machines: readonly MachineItem[]): string =>
  formatColumns(MACHINE_COLUMNS, machines);

const BUDGET_COLUMNS: Columns<FleetBudget> = [
  ["budget_id", (budget) => budget.id],
  ["name", (budget) => budget.name],
  ["subject", (budget) => budget.subject],
  ["target", (budget) => budget.target_name ?? budget.target],
  ["unit", (budget) => budget.unit],
  ["used", ({ unit, spent }) => formatExactAmount(unit, spent)],
  ["limit", ({ unit, limit }) => formatExactAmount(unit, limit)],
  ["used_percent", (budget) => budget.used_percent],
  ["calls", (budget) => budget.calls],
  ["unpriced_calls", (budget) => budget.unpriced_calls],
  ["period", (budget) => budget.period],
  ["period_from", (budget) => budget.period_from],
  ["period_to", (budget) => budget.period_to],
  ["zone", (budget) => budget.zone],
  ["at_limit", (budget) => budget.at_limit],
  ["paused", (budget) => budget.paused],
  ["lifted_until", (budget) => budget.lifted_until],
];

/** Formats budgets as CSV. */
export const budgetsCsv = (budgets: readonly FleetBudget[]): string => formatColumns(BUDGET_COLUMNS, budgets);

/** A key with the names that the page shows. */
export type KeyItem = Keys["items"][number] & {
  readonly person: string | null;
  readonly machine: string | null;
};

const KEY_COLUMNS: Columns<KeyItem> = [
  ["key_id", (key) => key.id],
  ["prefix", (key) => key.prefix],
  ["scope", (key) => key.scope],
  ["person", (key) => key.person],
  ["machine", (key) => key.machine],
  ["created_at", (key) => key.created_at],
  ["last_used_at", (key) => key.last_used_at],
];

/** Formats keys as CSV: never their tokens, which are not stored. */
export const keysCsv = (keys: readonly KeyItem[]): string => formatColumns(KEY_COLUMNS, keys);

type Person =
  | (Members["items"][number] & { readonly state: "member" })
  | (Invitations["items"][number] & { readonly state: "invited" });

const PERSON_COLUMNS: Columns<Person> = [
  ["state", ({ state }) => state],
  ["user_id", (person) => (person.state === "member" ? person.user_id : null)],
  ["name", (person) => (person.state === "member" ? person.name : null)],
  ["email", ({ email }) => email],
  ["role", ({ role }) => role],
  ["via", (person) => (person.state === "member" ? person.via : null)],
  ["joined_at", (person) => (person.state === "member" ? person.joined_at : null)],
  ["invited_until", (person) => (person.state === "invited" ? person.expires_at : null)],
];

/** Formats the members and the pending invitations as CSV. */
export const membersCsv = (members: Members["items"], invitations: Invitations["items"]): string =>
  formatColumns<Person>(PERSON_COLUMNS, [
    ...members.map((member): Person => ({ ...member, state: "member" })),
    ...invitations.map((invitation): Person => ({ ...invitation, state: "invited" })),
  ]);

type PrivacyRow =
  | (WorkspacePrivacy["holdings"][number] & { readonly kind: "held" })
  | (WorkspacePrivacy["erasures"][number] & { readonly kind: "erased" });

const ofErasure =
  (read: (erasure: WorkspacePrivacy["erasures"][number]) => string | null) => (row: PrivacyRow) =>
    row.kind === "erased" ? read(row) : null;

const PRIVACY_COLUMNS: Columns<PrivacyRow> = [
  ["kind", ({ kind }) => kind],
  ["user_id", (row) => row.user_id],
  ["name", (row) => (row.kind === "held" ? row.name : null)],
  ["requests", (row) => (row.kind === "held" ? row.requests : null)],
  ["stored_prompts", (row) => (row.kind === "held" ? row.stored_prompts : null)],
  ["project", ofErasure(({ project }) => project)],
  ["before", ofErasure(({ before }) => before)],
  ["finished_at", ofErasure(({ finished_at }) => finished_at)],
  ["actor_user_id", ofErasure(({ actor_user_id }) => actor_user_id)],
  ["erasure_id", ofErasure(({ id }) => id)],
];

/** Formats what a workspace holds of each person, and what was erased, as CSV. The certificates are in the JSON. */
export const workspacePrivacyCsv = ({ holdings, erasures }: WorkspacePrivacy): string =>
  formatColumns<PrivacyRow>(PRIVACY_COLUMNS, [
    ...holdings.map((held): PrivacyRow => ({ ...held, kind: "held" })),
    ...erasures.map((erased): PrivacyRow => ({ ...erased, kind: "erased" })),
  ]);
