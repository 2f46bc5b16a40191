import { type Context, Hono } from "hono";
import {
  type CloudState,
  type ConnectAnswer,
  connectRequestSchema,
  parseWire,
  readJson,
} from "../../core/wire/mod.ts";
import type { CloudService } from "../cloud/mod.ts";
import type { ConnectOptions } from "../cloud/results.ts";
import { problem } from "./problem.ts";

/** What the routes need beside the service. */
export interface CloudRoutesOptions {
  readonly version: string;
  readonly hostname: string;
  /** The loopback API's port. */
  readonly port: () => number;
  /** Whether the request showed the bearer secret of the home, as the command line does; a web page never does. */
  readonly isOwner: (context: Context) => boolean;
}

/** A connect request holds a flag or two. */
const MAX_BYTES = 4_096;

/**
 * The loopback API's part for the cloud, to be mounted at `/v1/cloud` behind the checks of host, origin and secret:
 * - `GET /v1/cloud/state`: paired or not, version, host name, port.
 * - `POST /v1/cloud/connect`: begins pairing, answers with the code; a web page's body is not read at all.
 * - `GET /v1/cloud/connect/status`: how far the handshake is.
 * - `POST /v1/cloud/connect/cancel`, `pause`, `resume`, `sync`, `reload` and `GET /v1/cloud/status`: for the owner alone.
 */
export function createCloudRoutes(service: CloudService, options: CloudRoutesOptions): Hono {
  const { isOwner } = options;
  const app = new Hono();
  const ownerOnly = (run: () => Promise<unknown>) => async (context: Context) =>
    isOwner(context)
      ? context.json((await run()) as object)
      : problem(
          context,
          401,
          "unauthorised",
          "This is for the owner's own programs, which show their secret.",
        );

  app.get("/state", async (context) => {
    const { paired, enabled } = await service.state();
    const { version, hostname, port } = options;
    return context.json({ paired: paired && enabled, version, hostname, port: port() } satisfies CloudState);
  });
  app.get("/connect/status", (context) => context.json(service.connectStatus()));

  app.post("/connect", async (context) => {
    // Decision: where the machine connects to, and whether anew, is the owner's to say; a page's words are not read,
    // and what was recorded before a new connection that a page began stays here.
    const asked = isOwner(context) ? await readOptions(context) : { byPage: true };
    if (asked === null) return problem(context, 422, "invalid_request", "This is no request to connect.");
    const result = await service.connect(asked);
    switch (result.kind) {
      case "code":
        return context.json({
          code: result.code,
          verification_url: result.verificationUrl,
        } satisfies ConnectAnswer);
      case "connected":
        return problem(context, 409, "already_connected", "This machine is connected already.");
      case "no_base_url":
        return problem(context, 409, "no_base_url", "No cloud is configured.");
      case "failed":
        return problem(context, 502, "pairing_failed", result.message);
    }
  });

  // Gives up the handshake under way, as Ctrl-C in `cloud connect` does: a code that is approved later connects nothing.
  app.post(
    "/connect/cancel",
    ownerOnly(async () => {
      await service.cancelConnect();
      return service.connectStatus();
    }),
  );

  // The whole snapshot that `cloud status` shows, with how the workers are.
  app.get("/status", ownerOnly(service.state));
  // The operator's pause, at once.
  app.post("/pause", ownerOnly(service.pause));
  // Ends a pause: the operator's at once, the cloud's after whoami has answered 200.
  app.post("/resume", ownerOnly(service.resume));
  // Sends everything that is pending; answers when that is done.
  app.post("/sync", ownerOnly(service.syncNow));
  // The configuration or the credentials were changed: read them now.
  app.post(
    "/reload",
    ownerOnly(async () => {
      await service.reload();
      return { reloaded: true };
    }),
  );
  return app;
}

async function readOptions(context: Context): Promise<ConnectOptions | null> {
  const bytes = new Uint8Array(await context.req.arrayBuffer());
  if (bytes.length > MAX_BYTES) return null;
  if (bytes.length === 0) return {};
  const json = readJson(bytes);
  const request = json.ok ? parseWire(connectRequestSchema, json.value) : json;
  if (!request.ok || !json.ok) return null;
  const { base_url: baseUrl, from_now: fromNow } = json.value as Record<string, unknown>;
  return {
    force: request.value.force,
    ...(typeof baseUrl === "string" ? { baseUrl } : {}),
    ...(fromNow === true ? { fromNow } : {}),
  };
}
