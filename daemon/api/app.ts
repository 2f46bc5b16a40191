import { Hono } from "hono";

/** What the loopback API needs of the daemon. */
export interface ApiPorts {
  version: string;
  /** The `Host` values that the API answers to, in lower case, port included. */
  allowedHosts: ReadonlySet<string>;
  /** The secret in `<meter_home>/loopback-token`. */
  token: string;
  /** Compares two secrets in constant time. */
  equalSecrets(one: string, other: string): boolean;
  status(): unknown;
}

/**
 * The daemon's loopback API: `/health` for anybody on this machine, the rest for those who hold the secret.
 * A page in a browser gets nothing, whatever it sends: the `Host` must be one of ours (DNS rebinding), and a request
 * that a browser made for another site carries `Origin` or `Sec-Fetch-Site`.
 */
export function createApi(ports: ApiPorts): Hono {
  const api = new Hono();
  api.use(async (context, next) => {
    const host = context.req.header("host")?.toLowerCase();
    if (host === undefined || !ports.allowedHosts.has(host)) {
      return problem(403, "host_not_allowed", "This API answers to its own loopback address alone.");
    }
    const site = context.req.header("sec-fetch-site");
    if (context.req.header("origin") !== undefined || (site !== undefined && site !== "none")) {
      return problem(403, "origin_not_allowed", "This API does not answer to web pages.");
    }
    await next();
    context.header("cache-control", "no-store");
    context.header("x-content-type-options", "nosniff");
    return undefined;
  });
  api.get("/health", (context) => context.json({ status: "ok", version: ports.version }));
  api.get("/v1/status", (context) => {
    const [scheme, token] = (context.req.header("authorization") ?? "").split(" ");
    if (
      scheme?.toLowerCase() !== "bearer" ||
      token === undefined ||
      !ports.equalSecrets(token, ports.token)
    ) {
      return problem(401, "unauthorised", "The secret is in the loopback-token file of the meter's home.", {
        "www-authenticate": "Bearer",
      });
    }
    return context.json(ports.status() as object);
  });
  api.notFound(() => problem(404, "not_found", "There is nothing at this address."));
  api.onError(() => problem(500, "internal", "The daemon could not answer; its log says why."));
  return api;
}

/** An RFC 9457 answer with a stable `code`. */
function problem(
  status: number,
  code: string,
  detail: string,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify({ type: "about:blank", status, code, detail }), {
    status,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store", ...headers },
  });
}
