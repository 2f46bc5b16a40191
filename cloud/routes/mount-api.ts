import type { Context, Hono } from "hono";
import { parseWire } from "../../core/wire/parse.ts";
import { bearerToken } from "../access/bearer-token.ts";
import { type Access, checkAccess } from "../access/check-access.ts";
import { workspaceOfToken } from "../access/token.ts";
import { API_ROUTES, type ApiRoute, type ApiRouteName, splitRouteName } from "../api/api-routes.ts";
import { addressGroup } from "../http/client-address.ts";
import { problem } from "../http/problem.ts";
import {
  type OrRefusal,
  readBytes,
  readPayload,
  refuseInvalid,
  SMALL_PAYLOAD_BYTES,
} from "../http/read-payload.ts";
import type { Visit } from "../limits/fair-queue.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { API_HANDLERS } from "./api-handlers.ts";

interface Input {
  readonly query?: unknown;
  readonly body?: unknown;
  readonly bytes?: Uint8Array;
}

/** A call of any route. */
interface UntypedCall extends Access, Input {
  readonly parts: CloudParts;
  readonly context: Context<CloudEnv>;
  readonly params: Readonly<Record<string, string>>;
  readonly answer: (status: number, body?: unknown) => Response;
}

/** Mounts every route of the table. A request is checked in this order: access, input, then whatever its handler checks. */
export function mountApi(app: Hono<CloudEnv>, parts: CloudParts): void {
  for (const name of Object.keys(API_ROUTES) as ApiRouteName[]) {
    const route: ApiRoute = API_ROUTES[name];
    // The type of the handlers pairs each with its route; a loop over the names cannot express that.
    const handle = API_HANDLERS[name] as (call: UntypedCall) => Response | Promise<Response>;
    const { method, path } = splitRouteName(name);
    const answerCall = async (context: Context<CloudEnv>, { run, hold }: Turn) => {
      const access = await run(() => checkAccess(parts, route, context));
      if (access === null) return overloaded();
      if (!access.ok) return access.refusal;
      // Read outside of a slot, since a client may send slowly.
      const bytes = await readBody(route, context, hold);
      if (!bytes.ok) return bytes.refusal;
      const answer = (status: number, body?: unknown) =>
        body === undefined ? context.body(null, status as 204) : context.json(body, status as 200);
      const params = context.req.param() as Readonly<Record<string, string>>;
      // Parsed in a slot, since the values can take twenty times as much memory as their text.
      const answered = await run(async () => {
        const input = parseInput(route, context, bytes.value);
        if (!input.ok) return input.refusal;
        return await handle({ parts, context, params, answer, ...access.value, ...input.value });
      });
      return answered ?? overloaded();
    };
    app.on(method, path, async (context) => {
      if (route.caller !== "key") return await answerCall(context, AT_ONCE);
      const visit = parts.queue.enter(tenantOf(parts, context));
      if (visit === null) return overloaded();
      try {
        return await answerCall(context, visit);
      } finally {
        visit.leave();
      }
    });
  }
}

/** Runs work when it is its turn, and holds memory. */
type Turn = Pick<Visit, "run" | "hold">;

/** The turn of a request that waits for no other. */
const AT_ONCE: Turn = { run: async (work) => await work(), hold: () => true };

/** The response to a request that was not processed because too many wait. The machine sends it again. */
function overloaded(): Response {
  return problem("unavailable", { retryAfterSeconds: OVERLOADED_RETRY_SECONDS });
}

/** `Retry-After` of a request that found the server overloaded, seconds. Decision: the same as if the database is unavailable. */
const OVERLOADED_RETRY_SECONDS = 5;

/**
 * Returns the name under which the requests of a token queue: its workspace if the token was valid before, else the client's address.
 * So an invalid token with another workspace's id can't fill that workspace's queue.
 */
function tenantOf(parts: CloudParts, context: Context<CloudEnv>): string {
  const token = bearerToken(context);
  const workspaceId = token === null ? null : workspaceOfToken(token);
  return token !== null && workspaceId !== null && parts.knownTokens.has(token)
    ? `workspace ${workspaceId}`
    : `address ${addressGroup(parts.addressOf(context))}`;
}

/** Reads the bytes of a request's body, if the route has one. */
async function readBody(
  { body, maxBodyBytes = SMALL_PAYLOAD_BYTES }: ApiRoute,
  context: Context<CloudEnv>,
  hold: Turn["hold"],
): Promise<OrRefusal<Uint8Array>> {
  if (body === undefined) return { ok: true, value: new Uint8Array(0) };
  return await readBytes(context.req.raw, maxBodyBytes, (bytes) => (hold(bytes) ? null : overloaded()));
}

function parseInput(
  { query, body, inputReadBy }: ApiRoute,
  context: Context<CloudEnv>,
  bytes: Uint8Array,
): OrRefusal<Input> {
  if (inputReadBy === "handler") return { ok: true, value: { bytes } };
  const input: { query?: unknown; body?: unknown } = {};
  if (query !== undefined) {
    const parsed = refuseInvalid(parseWire(query, context.req.query()));
    if (!parsed.ok) return parsed;
    input.query = parsed.value;
  }
  if (body !== undefined) {
    const parsed = readPayload(bytes, body);
    if (!parsed.ok) return parsed;
    input.body = parsed.value;
  }
  return { ok: true, value: input };
}
