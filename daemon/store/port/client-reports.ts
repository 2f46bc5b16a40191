import type { ClientReport } from "../../../core/metering/client-reports/client-report.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { Period } from "./values.ts";

/** A stored report; its key is a hash. */
export type StoredClientReport = ClientReport;

/** The usage that clients state themselves by OpenTelemetry. */
export interface ClientReportStore {
  /**
   * Stores reports in one transaction. Idempotent by key: a request or an interval stays as it is, a running total takes the later
   * values. The oldest reports are deleted if there are too many.
   */
  save(reports: readonly ClientReport[]): void;
  /** Reads the reports of a period in order of time. Empty if there are none. */
  read(period: Period): StoredClientReport[];
  /** Returns the client and the time of the latest report. Null if there is none. */
  last(): { readonly client: string; readonly at: Millis } | null;
}
