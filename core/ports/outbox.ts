import type { Millis } from "../values/time.ts";

/** A payload that is about to be sent from this machine. */
export interface OutboxItem {
  readonly kind: "metadata" | "body";
  readonly at: Millis;
  readonly origin: string;
  readonly projects: readonly string[];
  readonly requestIds: readonly string[];
  /** Names of the fields that were not null. */
  readonly fields: readonly string[];
  /** The text that is sent. The bytes of a body are replaced by their size and SHA-256. */
  readonly payload: string;
}

/** An item with its position in the chain. */
export interface OutboxEntry extends OutboxItem {
  readonly seq: number;
  /** The hash of the previous entry; 64 zeros for the first. */
  readonly previous: string;
  readonly hash: string;
}

/** Whether the chain is intact. Entries removed by rotation are not a fault: the first stored entry names the hash that it follows. */
export type OutboxVerdict =
  | { readonly ok: true; readonly entries: number; readonly firstSeq: number; readonly lastSeq: number }
  | { readonly ok: false; readonly file: string; readonly line: number; readonly problem: string };

/** The log of what was sent: append-only, chained by hashes, bounded in size. */
export interface Outbox {
  /** Stores the item. If it rejects, nothing may be sent. */
  append(item: OutboxItem): Promise<void>;
  /** Returns the stored entries, oldest first. */
  read(): AsyncIterable<OutboxEntry>;
  verify(): Promise<OutboxVerdict>;
}
