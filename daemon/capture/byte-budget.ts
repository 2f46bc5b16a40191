import type { ByteQuota } from "../../core/metering/exchange/byte-store.ts";

/** A limit on the memory of all calls together. */
export interface ByteBudget extends ByteQuota {
  readonly usedBytes: number;
}

/**
 * Maximum bytes of bodies that all calls hold together. Decision: with the messages below, and the same amount in transfer
 * from the proxy's thread, the daemon stays below 400 MB.
 */
export const MAX_HELD_BODY_BYTES = 32 * 1024 * 1024;

/**
 * Maximum bytes of incomplete messages (stream events, lines and WebSocket messages) that the readers of all responses hold
 * together. Decision: a separate budget from the bodies, because without these messages there is no usage.
 */
export const MAX_HELD_MESSAGE_BYTES = 32 * 1024 * 1024;

export function createByteBudget(maxBytes: number): ByteBudget {
  let usedBytes = 0;
  return {
    get usedBytes() {
      return usedBytes;
    },
    take(bytes) {
      if (usedBytes + bytes > maxBytes) return false;
      usedBytes += bytes;
      return true;
    },
    release(bytes) {
      usedBytes -= bytes;
    },
  };
}

/** The part of a budget that one call uses. */
export interface BudgetShare extends ByteQuota {
  /** Whether the budget has refused a request of this call. */
  readonly wasRefused: boolean;
  /** Releases all memory of the call. Later requests for memory are refused. */
  close(): void;
}

export function openBudgetShare(budget: ByteBudget): BudgetShare {
  let heldBytes = 0;
  let isClosed = false;
  const share = {
    wasRefused: false,
    take(bytes: number) {
      if (isClosed) return false;
      if (!budget.take(bytes)) {
        share.wasRefused = true;
        return false;
      }
      heldBytes += bytes;
      return true;
    },
    release(bytes: number) {
      if (isClosed) return;
      heldBytes -= bytes;
      budget.release(bytes);
    },
    close() {
      isClosed = true;
      budget.release(heldBytes);
      heldBytes = 0;
    },
  };
  return share;
}
