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
  /** The end of an errand with a driver of its own, for which all others wait likewise. */
  let errandDone: Promise<void> | null = null;
  let endErrand = () => {};
  /** A stop may come while a driver is still made. */
  let stops = 0;

  async function start(): Promise<Running<State, Event>> {
    const before = stops;
    const cancelled = Promise.withResolvers<void>();
    const { driver, first } = await make(cancelled.promise);
    const ended = driver.run(first).finally(() => cancelled.resolve());
    if (stops !== before) driver.stop();
    return { driver, ended, cancel: cancelled.resolve };
  }

  /** Does the errand with the running driver; where none runs, with its own one. */
  async function withDriver<T>(
    errand: (present: Running<State, Event>, isOwn: boolean) => Promise<T>,
  ): Promise<T> {
    while (errandDone !== null) await errandDone;
    if (running !== null) return await errand(running, false);
    if (starting !== null) return await errand(await starting, false);
    const done = Promise.withResolvers<void>();
    errandDone = done.promise;
    try {
      const own = await start();
      // Its failure is the errand's to see.
      own.ended.catch(() => {});
      endErrand = () => end(own);
      try {
        return await errand(own, true);
      } finally {
        end(own);
        await own.ended.catch(() => {});
      }
    } finally {
      endErrand = () => {};
      errandDone = null;
      done.resolve();
    }
  }

  function end({ cancel, driver }: Running<State, Event>): void {
    cancel();
    driver.stop();
  }

  return {
    async run() {
      const before = stops;
      while (errandDone !== null) await errandDone;
      if (stops !== before) return;
      starting = start();
      try {
        running = await starting;
      } finally {
        starting = null;
      }
      try {
        await running.ended;
      } finally {
        running = null;
      }
    },
    stop() {
      stops += 1;
      endErrand();
      if (running !== null) end(running);
    },
    use: (errand) => withDriver(({ driver, ended }) => errand(driver, ended)),
    tell: (event) =>
      withDriver(async ({ driver, ended }, isOwn) => {
        driver.dispatch(event);
        if (!isOwn) return;
        await driver.idle();
        // A driver that failed is idle too: then its failure comes out here.
        driver.stop();
        await ended;
      }),
  };
}
