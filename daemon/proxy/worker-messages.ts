import type { MessagePort } from "node:worker_threads";
import type { GateConfig } from "./call-gate.ts";
import type { CallQuestion, GateAnswer, PassedUses } from "./call-question.ts";
import type { ProxyCounters } from "./counters.ts";
import type { ProxyConfig } from "./proxy-config.ts";
import type { CutOrder } from "./response-cut.ts";
import type { TapBatch } from "./tap-batch.ts";

/** The configuration of a worker. */
export interface ProxyWorkerData {
  readonly config: ProxyConfig;
  /** The number of the first connection. It continues after a restart, so that numbers stay unique. */
  readonly firstConnection: number;
  /**
   * Two shared counters of what the main thread has read: the memory size of the batches in bytes, and their number. Null for a
   * process, which reads that from the memory of its log.
   */
  readonly acknowledged: Int32Array<SharedArrayBuffer> | null;
}

/** A connection that is between requests, with the time of the last bytes that the log's reader saw. */
export interface IdleConnection {
  readonly connection: number;
  readonly lastAtMs: number;
}

/** From the main thread to the worker. */
export type ToWorker =
  /** The first message. */
  | { readonly kind: "start"; readonly data: ProxyWorkerData }
  /** Ends the wait of `ProxyConfig.holdMs`. */
  | { readonly kind: "serve" }
  | { readonly kind: "ping"; readonly id: number }
  | { readonly kind: "close_idle"; readonly connections: readonly IdleConnection[] }
  | { readonly kind: "stop"; readonly deadlineMs: number }
  /** The port to look up the clients' users through from now on. */
  | { readonly kind: "caller_lookup"; readonly port: MessagePort }
  /** How calls are held from now on; null: they are not. */
  | { readonly kind: "gate"; readonly gate: GateConfig | null }
  | { readonly kind: "answer"; readonly id: number; readonly answer: GateAnswer }
  | { readonly kind: "cut"; readonly order: CutOrder }
  /** The buffer of a batch that was read, to be reused. */
  | { readonly kind: "spent"; readonly buffer: ArrayBuffer };

/** From the worker to the main thread. */
export type FromWorker =
  | TapBatch
  /** A process has written its log up to this entry. */
  | { readonly kind: "announced"; readonly through: number }
  | { readonly kind: "ready"; readonly port: number }
  | { readonly kind: "listen_failed"; readonly code: string; readonly message: string }
  | { readonly kind: "counters"; readonly counters: ProxyCounters }
  /** With `passed`, it is read after the log before it, which shows those calls. */
  | {
      readonly kind: "question";
      readonly id: number;
      readonly question: CallQuestion;
      readonly passed: PassedUses | null;
      /** Whether the question has nothing of its body, which follows in parts. */
      readonly hasRest: boolean;
    }
  | {
      readonly kind: "question_part";
      readonly id: number;
      readonly bytes: Uint8Array;
      readonly isFirst: boolean;
      readonly isLast: boolean;
    }
  /** The call was asked about, and was sent because no answer had come in time. */
  | { readonly kind: "sent_late"; readonly connection: number; readonly request: number }
  | { readonly kind: "pong"; readonly id: number }
  | { readonly kind: "stopped" };
