/**
 * The daemon's log events with their fields. A field is a number, a boolean or a short text that we chose ourselves:
 * nothing that a client or a provider sent, so that no secret can be in it. Dotted names as the contract lists them
 * ("Events").
 */
export interface LogEvents {
  "daemon.started": { version: string; proxy_port: number; api_port: number };
  "daemon.stopped": Record<string, never>;
  "daemon.warning": { warning: string };
  "daemon.heartbeat": { records: number; pending: number; connections: number };
  "daemon.task_crashed": { task: string; restart_delay_ms: number };
  "proxy.restarted": { port: number };
  "capture.failed": { host?: string; error: string };
  "capture.unreadable": { host: string; reason: string };
  "store.failing": { reason: string };
  "store.refused": { reason: string };
  "store.recovered": { pending: number; dropped: number };
  "store.set_aside": { path: string };
  "attribution.tier_hit": { tier: string; project: string };
  "addon.body_capture.skip": { reason: "body_too_large"; size_bytes: number; gate_bytes: number };
}

/** Writes one line an event. Never throws. */
export interface Log {
  debug<Name extends keyof LogEvents>(event: Name, fields: LogEvents[Name]): void;
  info<Name extends keyof LogEvents>(event: Name, fields: LogEvents[Name]): void;
  warn<Name extends keyof LogEvents>(event: Name, fields: LogEvents[Name]): void;
  error<Name extends keyof LogEvents>(event: Name, fields: LogEvents[Name]): void;
}
