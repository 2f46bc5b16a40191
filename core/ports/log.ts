/**
 * What a field may hold: `count` a number, `flag` a boolean, `word` a machine's word without spaces (an error's code, a
 * slug, an identifier, a host), `text` a sentence or path of our own, each of them or null. Nothing that a client or a
 * provider sent goes into a `text`, so that no prompt, key or provider's message can get into the log.
 */
export type LogFieldKind = "count" | "flag" | "word" | "text";

/**
 * Every event that the daemon logs, with its fields. The first block is the contract's list ("Events", item 4), whose
 * names and fields stay as they are there; below it are our own.
 */
export const LOG_EVENTS = {
  "cloud.supervisor.spawned": { task: "word", restarts: "count" },
  "cloud.supervisor.skip": { task: "word", reason: "word" },
  "cloud.supervisor.worker_exited": {
    task: "word",
    cause: "word",
    error: "word",
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
  "pricing.pull_invalid": { reason: "word", provider: "word", model: "word" },
  "bodies.retention_sweep": { deleted: "count", retention_days: "count", elapsed_ms: "count" },
  "addon.body_capture.skip": { reason: "word", size_bytes: "count", gate_bytes: "count" },
  "daemon.heartbeat": { uptime_ms: "count", records: "count", pending: "count", connections: "count" },
  "daemon.task_crashed": { task: "word", error: "word", restart_delay_ms: "count" },
  "watchdog.mitm_unhealthy": { consecutive_failures: "count", action: "word" },
  "attribution.tier_hit": { tier: "word", project: "word", runner_up: "word", client: "word" },
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
  "pricing.pulled": { rates: "count", from: "word" },

  "daemon.started": { version: "word", proxy_port: "count", api_port: "count" },
  "daemon.stopped": { reason: "word" },
  "daemon.warning": { warning: "text" },
  "proxy.restarted": { port: "count" },
  "capture.failed": { host: "word", error: "word" },
  "capture.unreadable": { host: "word", reason: "word" },
  "api.failed": { error: "word" },
  "attribution.failed": { error: "word" },
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

/** The fields of an event; each may be left out or null. */
export type LogFields<Event extends LogEvent> = {
  readonly [Field in keyof (typeof LOG_EVENTS)[Event]]?:
    | LogFieldTypes[Extract<(typeof LOG_EVENTS)[Event][Field], LogFieldKind>]
    | null
    | undefined;
};

/** From the most talkative to the most silent. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

/** How much an event matters. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Writes one event to the log. Never throws and never waits; a line that can't be written is lost. */
export type WriteEvent = <Event extends LogEvent>(event: Event, fields: LogFields<Event>) => void;

/** The daemon's structured log. Events keep the order in which they were written. */
export type Log = Readonly<Record<LogLevel, WriteEvent>>;
