import type { Driver } from "../../core/ports/driver.ts";

/** A state machine with its driver. It runs under a supervisor, or for the duration of one task. */
export interface Worker<State, Event> {
  /** Runs until it is stopped. Rejects if the driver fails. */
  run(): Promise<void>;
  stop(): void;
  /** Runs a task with the running driver, or with a temporary one if none runs. */
  use<T>(task: (driver: Driver<State, Event>, ended: Promise<void>) => Promise<T>): Promise<T>;
  /** Dispatches the event. If no driver was running, waits until the event is handled. */
  dispatch(event: Event): Promise<void>;
}

/** Creates a driver and its first event. `cancelled` ends the driver's requests to the cloud. */
type MakeDriver<State, Event> = (
  cancelled: Promise<void>,
) => Promise<{ driver: Driver<State, Event>; first: Event }>;

interface Running<State, Event> {
  readonly driver: Driver<State, Event>;
  readonly ended: Promise<void>;
  cancel(): void;
}

interface WorkerState<State, Event> {
  readonly make: MakeDriver<State, Event>;
  running: Running<State, Event> | null;
  /** The driver that is starting. Tasks wait for it, since two drivers would act on the same state. */
  starting: Promise<Running<State, Event>> | null;
  /** Resolves when the task with a temporary driver ends. Other tasks wait for it. */
  taskDone: Promise<void> | null;
  endTask(): void;
  /** The number of stops so far. A driver that was being created during a stop is stopped at once. */
  stops: number;
}

/** Creates a worker that runs the drivers from `make`. */
export function createWorker<State, Event>(make: MakeDriver<State, Event>): Worker<State, Event> {
  const worker: WorkerState<State, Event> = {
    make,
    running: null,
    starting: null,
    taskDone: null,
    endTask() {},
    stops: 0,
  };
  return {
    run: () => run(worker),
    stop() {
      worker.stops += 1;
      worker.endTask();
      if (worker.running !== null) end(worker.running);
    },
    use: (task) => withDriver(worker, ({ driver, ended }) => task(driver, ended)),
    dispatch: (event) => dispatch(worker, event),
  };
}

async function run<State, Event>(worker: WorkerState<State, Event>): Promise<void> {
  const before = worker.stops;
  while (worker.taskDone !== null) await worker.taskDone;
  if (worker.stops !== before) return;
  worker.starting = start(worker);
  try {
    worker.running = await worker.starting;
  } finally {
    worker.starting = null;
  }
  try {
    await worker.running.ended;
  } finally {
    worker.running = null;
  }
}

async function start<State, Event>(worker: WorkerState<State, Event>): Promise<Running<State, Event>> {
  const before = worker.stops;
  const cancelled = Promise.withResolvers<void>();
  const { driver, first } = await worker.make(cancelled.promise);
  const ended = driver.run(first).finally(() => cancelled.resolve());
  if (worker.stops !== before) driver.stop();
  return { driver, ended, cancel: cancelled.resolve };
}

function end<State, Event>({ cancel, driver }: Running<State, Event>): void {
  cancel();
  driver.stop();
}

/** Runs a task with the running driver, or with a temporary one. */
async function withDriver<State, Event, T>(
  worker: WorkerState<State, Event>,
  task: (running: Running<State, Event>, isTemporary: boolean) => Promise<T>,
): Promise<T> {
  while (worker.taskDone !== null) await worker.taskDone;
  if (worker.running !== null) return await task(worker.running, false);
  if (worker.starting !== null) return await task(await worker.starting, false);
  const done = Promise.withResolvers<void>();
  worker.taskDone = done.promise;
  try {
    return await withTemporaryDriver(worker, (temporary) => task(temporary, true));
  } finally {
    worker.endTask = () => {};
    worker.taskDone = null;
    done.resolve();
  }
}

async function withTemporaryDriver<State, Event, T>(
  worker: WorkerState<State, Event>,
  task: (temporary: Running<State, Event>) => Promise<T>,
): Promise<T> {
  const temporary = await start(worker);
  temporary.ended.catch(() => {}); // the task handles the failure
  worker.endTask = () => end(temporary);
  try {
    return await task(temporary);
  } finally {
    end(temporary);
    await temporary.ended.catch(() => {});
  }
}

function dispatch<State, Event>(worker: WorkerState<State, Event>, event: Event): Promise<void> {
  return withDriver(worker, async ({ driver, ended }, isTemporary) => {
    driver.dispatch(event);
    if (!isTemporary) return;
    await driver.idle();
    // A driver that failed is idle too. Its failure is thrown here.
    driver.stop();
    await ended;
  });
}
