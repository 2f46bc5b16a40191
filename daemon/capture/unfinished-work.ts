import type { CapturePorts } from "./ports.ts";

/** Counts the calls, and the work that follows them, that have not finished. */
export interface UnfinishedWork {
  /** Begins a call. The returned function ends it, with the error that prevented its record, or null. */
  begin(host: string): (cause: unknown) => void;
  /** Adds work that continues after a call of this host has ended. */
  continueWith(host: string, work: Promise<unknown>): void;
  /** Counts and logs a failure of the meter itself. */
  recordFailure(host: string, cause: unknown): void;
  /** Resolves when nothing is unfinished. */
  settled(): Promise<void>;
}

export function createUnfinishedWork({ coverage, log }: CapturePorts): UnfinishedWork {
  let count = 0;
  let waiting: (() => void)[] = [];

  const onFinished = () => {
    count -= 1;
    if (count > 0) return;
    for (const resolve of waiting) resolve();
    waiting = [];
  };

  /** Logs only the error's name, because its message may contain the call's content. */
  const recordFailure = (host: string, cause: unknown) => {
    coverage.count(host, "capture_failed");
    log.error("capture.failed", { host, error: cause instanceof Error ? cause.name : typeof cause });
  };

  return {
    begin(host) {
      count += 1;
      const ended = coverage.begin(host);
      return (cause) => {
        if (cause !== null) recordFailure(host, cause);
        ended();
        onFinished();
      };
    },
    continueWith(host, work) {
      count += 1;
      work.catch((cause: unknown) => recordFailure(host, cause)).finally(onFinished);
    },
    recordFailure,
    settled: () => (count === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
