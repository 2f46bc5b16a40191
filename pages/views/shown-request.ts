import type { RequestRecord } from "../../core/values/record.ts";

type UnsentField = "attributionTier" | "host" | "latencyMs" | "method" | "path" | "streaming";

/** A request as pages show it. A machine knows all of its fields; null is what it did not send to a cloud. */
export type ShownRequest = Omit<RequestRecord, UnsentField | "api"> & {
  readonly [Name in UnsentField]: RequestRecord[Name] | null;
};

/** Who sent a request to a cloud. */
export interface RequestSender {
  readonly person: string;
  /** Null: the request was not sent by a machine. */
  readonly machine: string | null;
}
