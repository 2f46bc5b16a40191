/** The limits of a queue. */
export interface FairQueueOptions {
  /**
   * How many pieces of work run at once. A tenant has at most a quarter of them, but at least two. More would not help, since batches of
   * one workspace wait for each other in the database, at the end of its ledger.
   */
  readonly slots: number;
  /** The maximum number of visits of a tenant at once. */
  readonly maxVisits: number;
  /** How long work waits for a slot, milliseconds. */
  readonly maxWaitMs: number;
  /** The maximum number of bytes that all visits hold at once. A tenant has at most a quarter of them. */
  readonly maxHeldBytes: number;
  setTimer(delayMs: number, run: () => void): () => void;
}

/** Shares a bounded number of slots, and a bounded amount of memory, among tenants. */
export interface FairQueue {
  /** Begins a visit; null if the tenant has too many. */
  enter(tenant: string): Visit | null;
}

/** A tenant's request. */
export interface Visit {
  /** Runs the work in a slot; null, without having run it, if none became free in time. */
  run<T>(work: () => Promise<T>): Promise<T | null>;
  /** Takes memory for the visit until it ends; false if there is none left. */
  hold(bytes: number): boolean;
  /** Ends the visit. */
  leave(): void;
}

interface Tenant {
  visits: number;
  heldBytes: number;
  running: number;
  /** Callbacks that start the waiting work, in order. */
  readonly waiting: (() => void)[];
}

/**
 * Creates a queue. Free slots go to the waiting tenants in turn, one each, so that a tenant with many requests delays another by
 * one piece of work and not by all of its own.
 */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { slots, maxVisits, maxWaitMs, maxHeldBytes, setTimer } = options;
  const share = Math.min(slots, Math.max(2, Math.floor(slots / 4)));
  /** In the order of their next turns. */
  const tenants = new Map<string, Tenant>();
  let running = 0;
  let heldBytes = 0;

  function startNext(): void {
    for (const [name, tenant] of tenants) {
      if (running === slots) return;
      if (tenant.running === share || tenant.waiting.length === 0) continue;
      // Its next turn comes after those of the others.
      tenants.delete(name);
      tenants.set(name, tenant);
      start(tenant, tenant.waiting.shift());
    }
  }

  function start(tenant: Tenant, begin: (() => void) | undefined): void {
    running += 1;
    tenant.running += 1;
    begin?.();
  }

  /** Resolves to whether a slot was taken. */
  function takeSlot(tenant: Tenant): Promise<boolean> {
    return new Promise((resolve) => {
      const begin = () => {
        cancel();
        resolve(true);
      };
      const cancel = setTimer(maxWaitMs, () => {
        tenant.waiting.splice(tenant.waiting.indexOf(begin), 1);
        resolve(false);
      });
      tenant.waiting.push(begin);
      startNext();
    });
  }

  return {
    enter(name) {
      const tenant = tenants.get(name) ?? { visits: 0, heldBytes: 0, running: 0, waiting: [] };
      if (tenant.visits >= maxVisits) return null;
      tenants.set(name, tenant);
      tenant.visits += 1;
      let ownBytes = 0;
      const addBytes = (bytes: number) => {
        ownBytes += bytes;
        tenant.heldBytes += bytes;
        heldBytes += bytes;
      };
      return {
        async run(work) {
          if (!(await takeSlot(tenant))) return null;
          try {
            return await work();
          } finally {
            running -= 1;
            tenant.running -= 1;
            startNext();
          }
        },
        hold(bytes) {
          if (heldBytes + bytes > maxHeldBytes || tenant.heldBytes + bytes > maxHeldBytes / 4) return false;
          addBytes(bytes);
          return true;
        },
        leave() {
          addBytes(-ownBytes);
          tenant.visits -= 1;
          if (tenant.visits === 0) tenants.delete(name);
        },
      };
    },
  };
}
