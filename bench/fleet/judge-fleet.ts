import type { FleetResult, Minute } from "./simulate-fleet.ts";
import type { CloudCapacity } from "./simulated-cloud.ts";

const MINUTE_MS = 60_000;

/** How many seconds' worth of batches may arrive within one second: beyond that, the daemons act in step. */
const STAMPEDE_SECONDS = 5;

/** When the backlog must be back at its level from before the outage, in minutes after the return. */
const RECOVERY_MINUTES = 30;

/** What a simulation showed. */
export interface FleetVerdict {
  readonly figures: readonly (readonly [name: string, value: string])[];
  readonly faults: readonly string[];
}

/** Judges whether a fleet lost nothing and recovered from an outage without a stampede. */
export function judgeFleet(
  { minutes, unhealthy }: FleetResult,
  outage: { readonly from: number; readonly to: number },
  cloud: CloudCapacity,
): FleetVerdict {
  const [from, to] = [outage.from / MINUTE_MS, outage.to / MINUTE_MS];
  const sum = (field: keyof Minute, list = minutes) =>
    list.reduce((total, minute) => total + minute[field], 0);
  const most = (field: keyof Minute, list: readonly Minute[]) =>
    Math.max(0, ...list.map((one) => one[field]));
  const after = minutes.slice(to);
  // The rate of records differs during the day, so the level is that of the same share of the records of two minutes.
  const recovered = after.findIndex(({ backlog, created }) => backlog <= 2 * created);
  const perSecond = cloud.servers / ((cloud.batchMs + cloud.recordMs) / 1000);
  const end = minutes.at(-1)?.backlog ?? 0;
  const count = (value: number) => Math.round(value).toLocaleString("en");
  const faults = [
    ...(sum("created") - sum("acknowledged") === end ? [] : ["records are missing"]),
    ...(sum("stored") < sum("acknowledged") ? ["more records were acknowledged than stored"] : []),
    ...(sum("stored") > sum("created") ? ["records were stored twice"] : []),
    ...(unhealthy > 0 ? [`${unhealthy} daemons still count failures or are paused`] : []),
    ...(most("mostInOneSecond", after) > STAMPEDE_SECONDS * perSecond
      ? ["the daemons came back at once"]
      : []),
    ...(recovered < 0 || recovered > RECOVERY_MINUTES
      ? [`the backlog was not sent within ${RECOVERY_MINUTES} minutes`]
      : []),
  ];
  return {
    faults,
    figures: [
      ["records created", count(sum("created"))],
      [
        "batches, of which without a response or refused",
        `${count(sum("sent"))}, ${count(sum("unanswered"))}, ${count(sum("refused"))}`,
      ],
      ["records sent again although they were stored", count(sum("repeated"))],
      ["batches of one record that the cloud stores per second", count(perSecond)],
      [
        "most batches in one second: before, during, after the outage",
        [minutes.slice(0, from), minutes.slice(from, to), after]
          .map((part) => count(most("mostInOneSecond", part)))
          .join(", "),
      ],
      [
        "longest wait in the cloud: before, after the outage, seconds",
        [minutes.slice(0, from), after]
          .map((part) => (most("longestWaitMs", part) / 1000).toFixed(2))
          .join(", "),
      ],
      ["backlog at the end of the outage, records", count(minutes[to - 1]?.backlog ?? 0)],
      ["minutes until the backlog was sent", recovered < 0 ? "–" : String(recovered + 1)],
      ["records stored per second in the busiest minute", count(most("stored", minutes) / 60)],
    ],
  };
}
