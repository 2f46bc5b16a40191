import type { BodyRef, BodyStore } from "../../core/ports/sync-store.ts";
import type { Millis } from "../../core/values/time.ts";

/** A captured body with its text. */
export interface MemoryBody extends Omit<BodyRef, "position" | "sizeBytes"> {
  readonly utf8: Uint8Array;
}

/** Captured bodies that wait for the cloud, in memory. Keys are `<request id> <direction>`. */
export interface MemoryBodyStore extends BodyStore {
  /** Appends a body. Does nothing if it already exists. */
  add(body: MemoryBody): void;
  /** Returns the body, or `null` if it is unknown. */
  read(requestId: string, direction: BodyRef["direction"]): MemoryBody | null;
  readonly uploadedAt: ReadonlyMap<string, Millis>;
  readonly quarantined: ReadonlyMap<string, { readonly reason: string; readonly at: Millis }>;
}

/** Creates an empty store. */
export function createMemoryBodyStore(): MemoryBodyStore {
  const bodies = new Map<string, { readonly body: MemoryBody; readonly position: string }>();
  const uploadedAt = new Map<string, Millis>();
  const quarantined = new Map<string, { readonly reason: string; readonly at: Millis }>();
  const keyOf = (requestId: string, direction: BodyRef["direction"]) => `${requestId} ${direction}`;

  return {
    uploadedAt,
    quarantined,
    add(body) {
      const key = keyOf(body.requestId, body.direction);
      // Fixed width, so that the positions sort in the order of insertion.
      if (!bodies.has(key)) bodies.set(key, { body, position: String(bodies.size).padStart(16, "0") });
    },
    read: (requestId, direction) => bodies.get(keyOf(requestId, direction))?.body ?? null,
    async selectPending(after, limit) {
      return [...bodies]
        .filter(([key, { position }]) => {
          return (after === null || position > after) && !uploadedAt.has(key) && !quarantined.has(key);
        })
        .slice(0, limit)
        .map(([, { body, position }]) => {
          const { utf8, ...ref } = body;
          return { ...ref, sizeBytes: utf8.length, position };
        });
    },
    async markUploaded(requestId, direction, at) {
      const key = keyOf(requestId, direction);
      if (bodies.has(key) && !uploadedAt.has(key)) uploadedAt.set(key, at);
    },
    async quarantine(requestId, direction, reason, at) {
      const key = keyOf(requestId, direction);
      if (bodies.has(key) && !quarantined.has(key)) quarantined.set(key, { reason, at });
    },
  };
}
