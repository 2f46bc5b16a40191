import type { Context, Hono } from "hono";
import { parseWire } from "../../core/wire/parse.ts";
import { type Access, checkAccess } from "../access/check-access.ts";
import { API_ROUTES, type ApiRoute, type ApiRouteName, splitRouteName } from "../api/api-routes.ts";
import {
  type OrRefusal,
  readBytes,
  readPayload,
  refuseInvalid,
  SMALL_PAYLOAD_BYTES,
} from "../http/read-payload.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import { API_HANDLERS } from "./api-handlers.ts";

interface Input {
  readonly query?: unknown;
  readonly body?: unknown;
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
    app.on(method, path, async (context) => {
      const access = await checkAccess(parts, route, context);
      if (!access.ok) return access.refusal;
      const input = await readInput(route, context);
      if (!input.ok) return input.refusal;
      const answer = (status: number, body?: unknown) =>
        body === undefined ? context.body(null, status as 204) : context.json(body, status as 200);
      const params = context.req.param() as Readonly<Record<string, string>>;
      return await handle({ parts, context, params, answer, ...access.value, ...input.value });
    });
  }
}

async function readInput(
  { query, body, maxBodyBytes = SMALL_PAYLOAD_BYTES, inputReadBy }: ApiRoute,
  context: Context<CloudEnv>,
): Promise<OrRefusal<Input>> {
  if (inputReadBy === "handler") return { ok: true, value: {} };
  const input: { query?: unknown; body?: unknown } = {};
  if (query !== undefined) {
    const parsed = refuseInvalid(parseWire(query, context.req.query()));
    if (!parsed.ok) return parsed;
    input.query = parsed.value;
  }
  if (body !== undefined) {
    const bytes = await readBytes(context.req.raw, maxBodyBytes);
    if (!bytes.ok) return bytes;
    const parsed = readPayload(bytes.value, body);
    if (!parsed.ok) return parsed;
    input.body = parsed.value;
  }
  return { ok: true, value: input };
}
