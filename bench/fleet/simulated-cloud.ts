/** The capacity of a simulated cloud. */
export interface CloudCapacity {
  /** Batches that are stored at the same time: one for each core that the processes and the database have. */
  readonly servers: number;
  /** The time to store a batch besides its records, in milliseconds. */
  readonly batchMs: number;
  /** The time to store one record, in milliseconds. */
  readonly recordMs: number;
  /** The longest time that a batch waits for its turn, in milliseconds; the cloud refuses longer ones with 503. */
  readonly longestWaitMs: number;
  /** The `Retry-After` of a refusal, in milliseconds. */
  readonly retryAfterMs: number;
}

/** What the cloud does with a batch. Times are milliseconds of the virtual clock. */
export type Treatment =
  | { readonly kind: "stored"; readonly at: number; readonly waitMs: number }
  | { readonly kind: "refused"; readonly at: number };

/** Creates a cloud that stores batches in order of arrival. Returns how it treats a batch that arrives at a time. */
export function createSimulatedCloud(
  capacity: CloudCapacity,
): (arrival: number, records: number) => Treatment {
  const freeAt = new Float64Array(capacity.servers);
  return (arrival, records) => {
    const free = freeAt.indexOf(Math.min(...freeAt));
    const start = Math.max(arrival, freeAt[free] as number);
    if (start - arrival > capacity.longestWaitMs) return { kind: "refused", at: arrival };
    const end = start + capacity.batchMs + records * capacity.recordMs;
    freeAt[free] = end;
    return { kind: "stored", at: end, waitMs: start - arrival };
  };
}
