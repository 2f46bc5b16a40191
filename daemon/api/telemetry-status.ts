import type { Millis } from "../../core/values/time.ts";
import type { ClientReportStore } from "../store/port/client-reports.ts";

/** What the receiver of OpenTelemetry has got. Times are ISO 8601 in UTC. */
export interface TelemetryStatus {
  /** The path of the loopback API that receives. */
  readonly path: string;
  /** The latest stored report; null if there is none. */
  readonly last_report: { readonly client: string; readonly at: string } | null;
  /** Payloads that were refused since the daemon started. */
  readonly refused: number;
  /** Why the last of them was refused. */
  readonly last_refusal: { readonly reason: string; readonly at: string } | null;
}

/** Counts the payloads that the receiver refuses. */
export interface TelemetryRefusals {
  add(reason: string): void;
  read(): Pick<TelemetryStatus, "refused" | "last_refusal">;
}

/** Creates a counter of refused payloads. */
export function createTelemetryRefusals(now: () => Millis): TelemetryRefusals {
  let [refused, last]: [number, TelemetryStatus["last_refusal"]] = [0, null];
  return {
    add(reason) {
      refused += 1;
      last = { reason, at: new Date(now()).toISOString() };
    },
    read: () => ({ refused, last_refusal: last }),
  };
}

/** Reads the latest report as the status shows it. */
export function readLastReport(reports: Pick<ClientReportStore, "last">): TelemetryStatus["last_report"] {
  const last = reports.last();
  return last === null ? null : { client: last.client, at: new Date(last.at).toISOString() };
}
