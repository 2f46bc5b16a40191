import type { CloudSettings } from "../config.ts";
import { createParts } from "../create-parts.ts";
import { problemOf } from "../http/problem.ts";
import type { CloudPorts } from "../ports.ts";
import { sendSummaries } from "./send-summaries.ts";

/** The time from the server's start to the first run, and from the end of a run to the next, milliseconds. */
const FIRST_RUN_MS = 90_000;
const INTERVAL_MS = 900_000;

/** The recurring emails of a running server. */
export interface SummaryJob {
  /** Stops the job after the current email. */
  stop(): Promise<void>;
}

/** Starts a job that sends the weekly summaries that are due. Several processes may each run one: an email is sent by one of them. */
export function startSummaryJob(ports: CloudPorts, config: CloudSettings = {}): SummaryJob {
  const parts = createParts(ports, config);
  const { clock, log } = parts;
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = clock.setTimer(FIRST_RUN_MS, tick);

  function tick(): void {
    running = run().then(() => {
      if (!isStopped) cancel = clock.setTimer(INTERVAL_MS, tick);
    });
  }

  async function run(): Promise<void> {
    try {
      const sent = await sendSummaries(parts, () => isStopped);
      if (sent > 0) log({ event: "cloud.summaries_sent", sent });
    } catch (error) {
      const { reason, code } = problemOf(error);
      log({ event: "cloud.summaries_failed", reason, code });
    }
  }

  return {
    async stop() {
      isStopped = true;
      cancel();
      await running;
    },
  };
}
