/**
 * The type of a field. `count` is a number, `flag` a boolean, `word` a machine-readable text without spaces (an error code,
 * a slug, an id, a host), and `text` a sentence or path of the meter's own. Any of them may be null. Text from a client or
 * provider is never a `text`, so that no prompt or key can get into the log.
 */
export type LogFieldKind = "count" | "flag" | "word" | "text";

/** The window that an event of limits is about. */
const LIMIT_FIELDS = {
  provider: "word",
  account: "word",
  window: "word",
  scope: "word",
  severity: "word",
  used_percent: "count",
  resets_at: "word",
} as const satisfies Readonly<Record<string, LogFieldKind>>;

/** An event of a budget. The user chose its name. */
const BUDGET_FIELDS = {
  budget: "text",
  unit: "word",
  limit: "word",
  used: "word",
  used_percent: "count",
  threshold: "count",
  session: "word",
  period_to: "word",
  gone_at: "word",
  until: "word",
  at_limit: "word",
  at_api_prices: "flag",
} as const satisfies Readonly<Record<string, LogFieldKind>>;

/**
 * The daemon's log events with their fields. The first block is the list of docs/specification.md#log-events, with its
 * names and fields; the rest are additional events.
 */
export const LOG_EVENTS = {
  "cloud.supervisor.spawned": { task: "word", restarts: "count" },
  "cloud.supervisor.skip": { task: "word", reason: "word" },
  "cloud.supervisor.worker_exited": {
    task: "word",
    cause: "word",
    error: "word",
    message: "text",
    ran_ms: "count",
    fast_restarts: "count",
    degraded: "flag",
    restart_in_ms: "count",
  },
  "cloud.worker.sync_paused": { reason: "word" },
  "sync.paused": { reason: "word", http_status: "count", last_request_id: "word" },
  "cloud.body_uploader.policy_rejected_tick": { count: "count", hint: "text" },
  "cloud.transport_error": {
    task: "word",
    error: "text",
    records: "count",
    consecutive_failures: "count",
    retry_in_ms: "count",
  },
  "pricing.pull_failed": { reason: "word", http_status: "count" },
  "ledger.changed": { chain: "word", seq: "count", fault: "word" },
  "pricing.pull_invalid": { reason: "word", provider: "word", model: "word" },
  "bodies.retention_sweep": { deleted: "count", retention_days: "count", elapsed_ms: "count" },
  "addon.body_capture.skip": { reason: "word", size_bytes: "count", gate_bytes: "count" },
  "daemon.heartbeat": { uptime_ms: "count", records: "count", pending: "count", connections: "count" },
  "daemon.task_crashed": { task: "word", error: "word", message: "text", restart_delay_ms: "count" },
  "watchdog.mitm_unhealthy": { consecutive_failures: "count", action: "word" },
  "attribution.tier_hit": { tier: "word", project: "word", runner_up: "word", client: "word", run: "word" },
  upload_truncated_request: { request_id: "word", size_bytes: "count", max_bytes: "count" },
  upload_truncated_response: { request_id: "word", size_bytes: "count", max_bytes: "count" },

  "sync.batch_failed": {
    error: "text",
    records: "count",
    consecutive_failures: "count",
    retry_in_ms: "count",
  },
  "cloud.body_uploader.paused": { reason: "word", http_status: "count", last_request_id: "word" },
  "cloud.body_uploader.failed": { error: "text", consecutive_failures: "count", retry_in_ms: "count" },
  "cloud.restored": { backup_at: "count", offered_from: "count" },
  "pricing.pulled": { rates: "count", from: "word" },

  "webhook.failed": {
    host: "word",
    error: "text",
    consecutive_failures: "count",
    retry_in_ms: "count",
  },
  "webhook.recovered": { host: "word" },
  "webhook.gone": { host: "word" },

  "otlp.failed": {
    host: "word",
    error: "text",
    consecutive_failures: "count",
    retry_in_ms: "count",
  },
  "otlp.rejected": { host: "word", signal: "word", http_status: "count", records: "count" },
  "otlp.recovered": { host: "word" },

  "limit.warning": LIMIT_FIELDS,
  "limit.reset": { ...LIMIT_FIELDS, early: "flag" },

  "budget.warning": BUDGET_FIELDS,
  "budget.exceeded": BUDGET_FIELDS,
  "budget.forecast": BUDGET_FIELDS,
  "budget.guard_tripped": BUDGET_FIELDS,
  "budget.lifted": BUDGET_FIELDS,
  "budget.lift_ended": BUDGET_FIELDS,
  "budget.cut": { budget: "text" },

  "daemon.started": { version: "word", proxy_port: "count", api_port: "count" },
  "daemon.stopped": { reason: "word" },
  "daemon.warning": { warning: "text" },
  "proxy.restarted": { port: "count" },
  "capture.failed": { host: "word", error: "word" },
  "capture.unreadable": { host: "word", reason: "word" },
  "api.failed": { error: "word", message: "text" },
  "attribution.failed": { error: "word", message: "text" },
  "store.failing": { reason: "word" },
  "store.refused": { reason: "word" },
  "store.recovered": { pending: "count", dropped: "count" },
} as const satisfies Record<string, Readonly<Record<string, LogFieldKind>>>;

/** The name of an event. */
export type LogEvent = keyof typeof LOG_EVENTS;

interface LogFieldTypes {
  count: number;
  flag: boolean;
  word: string;
  text: string;
}

/** The fields of an event. Each may be omitted or null. */
export type LogFields<Event extends LogEvent> = {
  readonly [Field in keyof (typeof LOG_EVENTS)[Event]]?:
    | LogFieldTypes[Extract<(typeof LOG_EVENTS)[Event][Field], LogFieldKind>]
    | null
    | undefined;
};

/** Log levels, from the most to the least verbose. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

/** The importance of an event. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Writes one event to the log. Never throws and never waits. A line that cannot be written is dropped. */
export type WriteEvent = <Event extends LogEvent>(event: Event, fields: LogFields<Event>) => void;

/** The daemon's structured log. Events are written in order. */
export type Log = Readonly<Record<LogLevel, WriteEvent>>;
