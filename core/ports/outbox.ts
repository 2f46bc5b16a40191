import type { Millis } from "../time.ts";

/** One thing that was about to leave the machine, as it was sent. */
export interface OutboxItem {
  readonly kind: "metadata" | "body";
  readonly at: Millis;
  readonly origin: string;
  readonly projects: readonly string[];
  readonly requestIds: readonly string[];
  /** Names of the fields that held anything but null. */
  readonly fields: readonly string[];
  /** The text that was sent; of a body everything but its bytes, which stand there as size and SHA-256. */
  readonly payload: string;
}

/** An item with its place in the chain. */
export interface OutboxEntry extends OutboxItem {
  readonly seq: number;
  /** The hash of the entry before; 64 zeros before the first. */
  readonly previous: string;
  readonly hash: string;
}

/** Whether the chain holds. What rotation took away is not missed: the first entry kept says what it follows. */
export type OutboxVerdict =
  | { readonly ok: true; readonly entries: number; readonly firstSeq: number; readonly lastSeq: number }
  | { readonly ok: false; readonly file: string; readonly line: number; readonly problem: string };

/** The log of what was sent: append-only, chained by hashes, bounded in size. */
export interface Outbox {
  /** Writes the item down; rejects where it can't be, and then nothing may be sent. */
  append(item: OutboxItem): Promise<void>;
  /** The entries that are kept, oldest first. */
  read(): AsyncIterable<OutboxEntry>;
  verify(): Promise<OutboxVerdict>;
}
