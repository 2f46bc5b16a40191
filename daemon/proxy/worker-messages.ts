import type { ProxyCounters } from "./counters.ts";
import type { ProxyConfig } from "./proxy-config.ts";
import type { TapBatch } from "./tap-log.ts";

/** What a worker starts with. */
export interface ProxyWorkerData {
  readonly config: ProxyConfig;
  /** Connections are numbered from here, so that numbers stay unique over restarts. */
  readonly firstConnection: number;
  /** One shared counter: the weight of the batches that the main thread has dealt with. */
  readonly acknowledged: Int32Array<SharedArrayBuffer>;
}

/** A connection that the log's reader knows to be between requests, with the time of the last bytes it saw. */
export interface QuietConnection {
  readonly connection: number;
  readonly lastAtMs: number;
}

/** From the main thread to the worker. */
export type ToWorker =
  | { readonly kind: "ping"; readonly id: number }
  | { readonly kind: "close_quiet"; readonly connections: readonly QuietConnection[] }
  | { readonly kind: "stop"; readonly deadlineMs: number }
  /** A batch's buffer that was read, for the next batch. */
  | { readonly kind: "spent"; readonly buffer: ArrayBuffer };

/** From the worker to the main thread. */
export type FromWorker =
  | TapBatch
  | { readonly kind: "ready"; readonly port: number }
  | { readonly kind: "listen_failed"; readonly code: string; readonly message: string }
  | { readonly kind: "counters"; readonly counters: ProxyCounters }
  | { readonly kind: "pong"; readonly id: number }
  | { readonly kind: "stopped" };
