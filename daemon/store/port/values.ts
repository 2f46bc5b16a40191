import type { Millis } from "../../../core/values/time.ts";

/** A half-open period, `[from, to)`. A bound of null is open. */
export interface Period {
  from: Millis | null;
  to: Millis | null;
}

/** The time zone of calendar days: the machine's or UTC. */
export type DayZone = "local" | "utc";

/** Lets other work of the thread run. Long reads await it between two slices. */
export type Turn = () => Promise<void>;

/** Which body of a request. Source: docs/specification.md#body-envelope. */
export type BodyDirection = "request" | "response";
