import * as v from "valibot";
import { integer, maybe, name } from "./fields.ts";

const port = integer(0, 65_535);

/** `GET /health`. */
export const healthSchema = v.object({
  /** `degraded`: it lives, but can't store what it meters, or its proxy does not answer. */
  status: v.picklist(["ok", "degraded"]),
  version: v.string(),
  started_at: maybe(v.string()),
});

/** The daemon lives. */
export type Health = v.InferOutput<typeof healthSchema>;

/** `GET /v1/cloud/state`. `port` is the loopback API's. Source: contract, "Local daemon loopback API". */
export const cloudStateSchema = v.object({
  paired: v.boolean(),
  version: v.string(),
  hostname: v.string(),
  port,
});

/** Whether this machine is connected, for the dashboard. */
export type CloudState = v.InferOutput<typeof cloudStateSchema>;

/** `POST /v1/cloud/connect`: the body may be empty. */
export const connectRequestSchema = v.object({ force: v.optional(v.boolean(), false) });

/** 200 to a connect; the address to approve at is additive. */
export const connectAnswerSchema = v.object({ code: name(16), verification_url: maybe(v.string()) });

/** A minted code. */
export type ConnectAnswer = v.InferOutput<typeof connectAnswerSchema>;

/** `GET /v1/cloud/connect/status`. Decision: the states of the handshake (`core/pairing`) and what it says of itself. */
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

/** How far a handshake is. */
export type ConnectStatus = v.InferOutput<typeof connectStatusSchema>;

/**
 * `GET /v1/status`: what readers rely on, whatever else a newer daemon says. Counters are loose, since they are shown and
 * not acted on.
 */
export const statusSchema = v.looseObject({
  version: v.string(),
  started_at: v.string(),
  proxy: v.looseObject({ port }),
  api: v.looseObject({ port }),
  warnings: v.array(v.string()),
});

/** What the daemon says of itself. */
export type Status = v.InferOutput<typeof statusSchema>;
