import { type Context, Hono } from "hono";
import { type CloudState, type ConnectResponse, connectRequestSchema } from "../../core/wire/loopback.ts";
import { parseWire } from "../../core/wire/parse.ts";
import { readJson } from "../../core/wire/read-json.ts";
import type { CloudService } from "../cloud/cloud-service.ts";
import type { ConnectOptions } from "../cloud/results.ts";
import { problem } from "./problem.ts";

/** Options of `createCloudRoutes()`. */
export interface CloudRoutesOptions {
  readonly version: string;
  readonly hostname: string;
  /** The loopback API's port. */
  readonly port: () => number;
  /** Whether the request carries the bearer secret of the meter home, as the command line does and web pages don't. */
  readonly isOwner: (context: Context) => boolean;
}

/** The largest connect request in bytes. */
const MAX_BYTES = 4_096;

/**
 * Creates the cloud routes of the loopback API. Mount them at `/v1/cloud`, behind the checks of host, origin and secret:
 * - `GET /v1/cloud/state`: paired or not, version, host name, port.
 * - `POST /v1/cloud/connect`: starts pairing and returns the code. The body is ignored if a web page sends it.
 * - `GET /v1/cloud/connect/status`: the state of the pairing.
 * - `POST /v1/cloud/connect/cancel`, `pause`, `resume`, `sync`, `reload` and `GET /v1/cloud/status`: require the secret.
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
          "This endpoint requires the secret from the loopback-token file as a bearer token.",
        );

  app.get("/state", async (context) => {
    const { paired, enabled } = await service.state();
    const { version, hostname, port } = options;
    return context.json({ paired: paired && enabled, version, hostname, port: port() } satisfies CloudState);
  });
  app.get("/connect/status", (context) => context.json(service.connectStatus()));

  app.post("/connect", (context) => connect(service, isOwner, context));

  // Cancels the pairing, as Ctrl-C in `cloud connect` does. Approving the code later has no effect.
  app.post(
    "/connect/cancel",
    ownerOnly(async () => {
      await service.cancelConnect();
      return service.connectStatus();
    }),
  );

  // The snapshot that `cloud status` shows, with the state of the workers.
  app.get("/status", ownerOnly(service.state));
  // Pauses sync at once.
  app.post("/pause", ownerOnly(service.pause));
  // Ends a manual pause at once, and a pause by the cloud once whoami has returned 200.
  app.post("/resume", ownerOnly(service.resume));
  // Sends everything that is pending, and returns when that is done.
  app.post("/sync", ownerOnly(service.syncNow));
  // Reads the changed configuration or credentials.
  app.post(
    "/reload",
    ownerOnly(async () => {
      await service.reload();
      return { reloaded: true };
    }),
  );
  return app;
}

async function connect(
  service: CloudService,
  isOwner: CloudRoutesOptions["isOwner"],
  context: Context,
): Promise<Response> {
  // Decision: only the owner chooses the cloud, and whether to pair again. A request from a page has no options, and
  // records from before a connection that a page started are not sent.
  const options = isOwner(context) ? await readOptions(context) : { byPage: true };
  if (options === null)
    return problem(context, 422, "invalid_request", "The request body is not a valid connect request.");
  const result = await service.connect(options);
  switch (result.kind) {
    case "code":
      return context.json({
        code: result.code,
        verification_url: result.verificationUrl,
      } satisfies ConnectResponse);
    case "connected":
      return problem(context, 409, "already_connected", "This machine is already connected.");
    case "no_base_url":
      return problem(context, 409, "no_base_url", "No cloud is configured.");
    case "failed":
      return problem(context, 502, "pairing_failed", result.message);
  }
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
