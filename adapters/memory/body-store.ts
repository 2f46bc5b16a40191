import type { BodyStore } from "../../core/ports/sync-store.ts";
import type { Millis } from "../../core/time.ts";
import type { BodyRef } from "../../core/uploader/mod.ts";

/** A captured leg and its text. */
export interface MemoryLeg extends Omit<BodyRef, "position" | "sizeBytes"> {
  readonly utf8: Uint8Array;
}

/** Captured legs that wait for the cloud, in memory. Keys are `<request id> <direction>`. */
export interface MemoryBodyStore extends BodyStore {
  /** Adds a leg behind those that are there; one that is there already stays as it is. */
  add(leg: MemoryLeg): void;
  /** The leg, or `null` where it is unknown. */
  read(requestId: string, direction: BodyRef["direction"]): MemoryLeg | null;
  readonly uploadedAt: ReadonlyMap<string, Millis>;
  readonly quarantined: ReadonlyMap<string, { readonly reason: string; readonly at: Millis }>;
}

/** Makes an empty store. */
export function createMemoryBodyStore(): MemoryBodyStore {
  const legs = new Map<string, { readonly leg: MemoryLeg; readonly position: string }>();
  const uploadedAt = new Map<string, Millis>();
  const quarantined = new Map<string, { readonly reason: string; readonly at: Millis }>();
  const keyOf = (requestId: string, direction: BodyRef["direction"]) => `${requestId} ${direction}`;

  return {
    uploadedAt,
    quarantined,
    add(leg) {
      const key = keyOf(leg.requestId, leg.direction);
      // Fixed width, so that the order of the texts is the order of adding.
      if (!legs.has(key)) legs.set(key, { leg, position: String(legs.size).padStart(16, "0") });
    },
    read: (requestId, direction) => legs.get(keyOf(requestId, direction))?.leg ?? null,
    async selectPending(after, limit) {
      return [...legs]
        .filter(([key, { position }]) => {
          return (after === null || position > after) && !uploadedAt.has(key) && !quarantined.has(key);
        })
        .slice(0, limit)
        .map(([, { leg, position }]) => {
          const { utf8, ...ref } = leg;
          return { ...ref, sizeBytes: utf8.length, position };
        });
    },
    async markUploaded(requestId, direction, at) {
      const key = keyOf(requestId, direction);
      if (legs.has(key) && !uploadedAt.has(key)) uploadedAt.set(key, at);
    },
    async quarantine(requestId, direction, reason, at) {
      const key = keyOf(requestId, direction);
      if (legs.has(key) && !quarantined.has(key)) quarantined.set(key, { reason, at });
    },
  };
}
