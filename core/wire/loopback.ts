import * as v from "valibot";
import { integer, maybe, name } from "./fields.ts";

const port = integer(0, 65_535);

/** The response of `GET /health`. */
export const healthSchema = v.object({
  /** `degraded`: the daemon runs but cannot store records, or its proxy does not respond. */
  status: v.picklist(["ok", "degraded"]),
  version: v.string(),
  started_at: maybe(v.string()),
});

/** The health of the daemon. */
export type Health = v.InferOutput<typeof healthSchema>;

/** The response of `GET /v1/cloud/state`. `port` is the port of the loopback API. Source: docs/specification.md#loopback-api. */
export const cloudStateSchema = v.object({
  paired: v.boolean(),
  version: v.string(),
  hostname: v.string(),
  port,
});

/** Whether this machine is connected to the cloud, for the dashboard. */
export type CloudState = v.InferOutput<typeof cloudStateSchema>;

/** The request of `POST /v1/cloud/connect`. The body may be empty. */
export const connectRequestSchema = v.object({ force: v.optional(v.boolean(), false) });

/** The 200 response to a connect request. Older daemons do not send `verification_url`. */
export const connectResponseSchema = v.object({ code: name(16), verification_url: maybe(v.string()) });

/** A new pairing code. */
export type ConnectResponse = v.InferOutput<typeof connectResponseSchema>;

/** The response of `GET /v1/cloud/connect/status`. Decision: `status` is the state of the pairing machine (`core/delivery/pairing`). */
export const connectStatusSchema = v.object({
  status: v.picklist([
    "idle",
    "checking",
    "starting",
    "polling",
    "storing",
    "approved",
    "connected",
    "denied",
    "expired",
    "failed",
  ]),
  code: maybe(v.string()),
  verification_url: maybe(v.string()),
  workspace_name: maybe(v.string()),
  message: maybe(v.string()),
});

/** The progress of a pairing. */
export type ConnectStatus = v.InferOutput<typeof connectStatusSchema>;

/**
 * The response of `GET /v1/status`: the fields that clients rely on. A newer daemon may send more. Counters are not
 * validated, because clients only display them.
 */
export const statusSchema = v.looseObject({
  version: v.string(),
  started_at: v.string(),
  proxy: v.looseObject({ port }),
  api: v.looseObject({ port }),
  warnings: v.array(v.string()),
});

/** The status of the daemon. */
export type Status = v.InferOutput<typeof statusSchema>;
