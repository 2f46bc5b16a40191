import type { Driver } from "../../core/ports/driver.ts";

/** One machine with its driver: running under a supervisor, or for the length of one errand. */
export interface Worker<State, Event> {
  /** Runs until it is told to stop; rejects with what went wrong. */
  run(): Promise<void>;
  stop(): void;
  /** Does an errand with the running driver; where none runs, with one that is ended behind it. */
  use<T>(errand: (driver: Driver<State, Event>, ended: Promise<void>) => Promise<T>): Promise<T>;
  /** Dispatches the event and, where no driver was running, waits until it is done with. */
  tell(event: Event): Promise<void>;
  isRunning(): boolean;
}

interface Running<State, Event> {
  readonly driver: Driver<State, Event>;
  readonly ended: Promise<void>;
  cancel(): void;
}

/** Makes a worker. `make` gives a driver and its first event, with a promise that ends what it asks of the cloud. */
export function createWorker<State, Event>(
  make: (cancelled: Promise<void>) => Promise<{ driver: Driver<State, Event>; first: Event }>,
): Worker<State, Event> {
  let running: Running<State, Event> | null = null;
  /** The driver that is being made to run: who has an errand waits for it, since two would both act on one state. */
  let starting: Promise<Running<State, Event>> | null = null;
  /** A stop may come while the driver is still made. */
  let stops = 0;

  async function start(): Promise<Running<State, Event>> {
    const cancelled = Promise.withResolvers<void>();
    const { driver, first } = await make(cancelled.promise);
    const ended = driver.run(first).finally(() => cancelled.resolve());
    return { driver, ended, cancel: cancelled.resolve };
  }

  return {
    async run() {
      const before = stops;
      const own = await (starting = start()).finally(() => {
        starting = null;
      });
      running = own;
      if (stops !== before) own.driver.stop();
      try {
        await own.ended;
      } finally {
        if (running === own) running = null;
      }
    },
    stop() {
      stops += 1;
      running?.cancel();
      running?.driver.stop();
    },
    async use(errand) {
      const present = running ?? (await starting);
      if (present !== null) return await errand(present.driver, present.ended);
      const own = await start();
      // Its failure is the errand's to see.
      own.ended.catch(() => {});
      try {
        return await errand(own.driver, own.ended);
      } finally {
        own.driver.stop();
        own.cancel();
        await own.ended.catch(() => {});
      }
    },
    async tell(event) {
      const present = running ?? (await starting);
      if (present !== null) return present.driver.dispatch(event);
      await this.use(async (driver, ended) => {
        driver.dispatch(event);
        await driver.idle();
        // A driver that failed is idle too: then its failure comes out here.
        driver.stop();
        await ended;
      });
    },
    isRunning: () => running !== null,
  };
}
