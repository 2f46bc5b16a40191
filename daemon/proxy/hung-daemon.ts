/** The ports of a watch, which runs in the process of the relay. */
interface HungDaemonPorts {
  /** How long the daemon may be silent, in milliseconds. */
  readonly mayHangMs: number;
  /** Milliseconds of a clock that stands still while the machine sleeps. */
  readonly now: () => number;
  /** Whether the daemon could run: it neither waits for a disk nor was stopped by a person. */
  readonly canRun: () => boolean;
  /** Ends the daemon. The script that started it starts another one. */
  readonly end: () => void;
}

/** Notices that the daemon hangs. */
interface HungDaemonWatch {
  /** The daemon sent a message. It asks the relay for an answer every 1.5 s. */
  heard(): void;
  /** To be called every `checkEveryMs`. */
  check(): void;
  readonly checkEveryMs: number;
}

/** How often a daemon is found silent before it is ended. */
const CHECKS = 10;

/**
 * Watches for a daemon whose main thread hangs: its relay goes on, but nothing is recorded. It counts only the time in which this process
 * ran too, so that a machine without processor time does not make the daemon look hung.
 */
export function watchHungDaemon({ mayHangMs, now, canRun, end }: HungDaemonPorts): HungDaemonWatch {
  const checkEveryMs = mayHangMs / CHECKS;
  let silentChecks = 0;
  let checkedAt = now();
  return {
    checkEveryMs,
    heard() {
      silentChecks = 0;
    },
    check() {
      const isLate = now() - checkedAt > 2 * checkEveryMs;
      checkedAt = now();
      if (isLate || !canRun()) silentChecks = 0;
      else if ((silentChecks += 1) > CHECKS) end();
    },
  };
}
