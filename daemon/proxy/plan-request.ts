import {
  type HeaderList,
  headerValue,
  type RequestHead,
  rewriteRequestHead,
} from "../../core/exchange/mod.ts";
import { formatAuthority, parseAuthority } from "./authority.ts";
import type { ParentProxy } from "./parent-proxy.ts";
import type { GatewayRoute } from "./proxy-config.ts";
import type { Refusal } from "./relay-context.ts";

/** Where a request in plain http goes, and how its head has to be written there. */
export interface RequestPlan {
  /** Requests of one key share an upstream connection. */
  readonly key: string;
  readonly mode: "gateway" | "absolute";
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** The value of `X-Meter-Project`, which gateway mode takes out. */
  readonly project: string | null;
  readonly proxyUser: string | null;
  /** The head as the upstream wants it. */
  readonly upstreamHead: (raw: Uint8Array) => Uint8Array;
  /** The head as a parent proxy for plain http wants it, with the credentials for that proxy. */
  readonly parentHead: (raw: Uint8Array, parent: ParentProxy) => Uint8Array;
}

const absoluteForm = /^http:\/\/([^/?#]*)(\/[^?#]*)?(\?[^#]*)?$/i;

const malformed = (text: string): Refusal => ({ status: 400, reason: "malformed", text });
const notForGateway = (text: string): Refusal => ({ status: 403, reason: "gateway_refused", text });

const isRefusal = (value: object): value is Refusal => "status" in value;

/** Reads the target of a request in absolute or origin form, or says why it is refused. */
export function planRequest(
  head: RequestHead,
  options: {
    readonly gatewayRoutes: readonly GatewayRoute[];
    readonly gatewayHosts: ReadonlySet<string>;
    readonly proxyUser: string | null;
    readonly takesProxyCredentials: boolean;
  },
): RequestPlan | Refusal {
  const hosts = head.headers.filter(([name]) => name.toLowerCase() === "host");
  if (hosts.length > 1) return malformed("more than one Host");
  const host = hosts[0]?.[1] ?? null;
  if (head.target.startsWith("/")) {
    const route = findRoute(head.target, options.gatewayRoutes);
    if (route === null) return malformed("this is a proxy: use it with CONNECT, http:// or a gateway prefix");
    const refusal = gatewayRefusal(head.headers, host, options.gatewayHosts);
    return refusal ?? planGateway(head, route, options.proxyUser, options.takesProxyCredentials);
  }
  const [, authorityText, path = "", query = ""] = absoluteForm.exec(head.target) ?? [];
  const authority = authorityText === undefined ? null : parseAuthority(authorityText, 80);
  if (authority === null) return malformed("the request target is neither a path nor an http:// URL");
  if (host === null && head.version !== "HTTP/1.0") return malformed("no Host");
  const asterisk = head.method === "OPTIONS" && path === "" && query === ""; // RFC 9112, section 3.2.4
  const target = asterisk ? "*" : `${path === "" ? "/" : path}${query}`;
  // RFC 9112, section 3.2.2: the target's authority counts, whatever Host says.
  const named = host === null ? null : parseAuthority(host, 80);
  const agrees = host === null || (named?.host === authority.host && named.port === authority.port);
  const set = agrees ? {} : { host: formatAuthority(authority, 80) };
  return {
    key: `absolute ${formatAuthority(authority)} ${options.proxyUser ?? ""}`,
    mode: "absolute",
    ...authority,
    tls: false,
    project: null,
    proxyUser: options.proxyUser,
    upstreamHead: (raw) => rewriteRequestHead(raw, { target, set, remove: ["proxy-*"] }),
    parentHead: (raw, parent) =>
      rewriteRequestHead(raw, {
        target: `http://${formatAuthority(authority, 80)}${asterisk ? "" : target}`,
        set: { ...set, ...credentials(parent) },
        remove: ["proxy-*"],
      }),
  };
}

/** Tells a refusal from a plan. */
export function isPlanRefused(plan: RequestPlan | Refusal): plan is Refusal {
  return isRefusal(plan);
}

function credentials(parent: ParentProxy): Record<string, string> {
  return parent.authorization === null ? {} : { "proxy-authorization": parent.authorization };
}

function findRoute(target: string, routes: readonly GatewayRoute[]): GatewayRoute | null {
  const prefix = /^\/[^/?]*/.exec(target)?.[0];
  return routes.find((route) => route.prefix === prefix) ?? null;
}

/**
 * Web pages can't send these requests: their name for us is another one, or they say where they come from.
 *
 * Decision: `Sec-Fetch-Mode: cors` alone is let pass. Node's own `fetch` sends it with every request, so that without it
 * no SDK on Node could use the gateway; a browser sends `Sec-Fetch-Site` and `Sec-Fetch-Dest` beside it (Fetch Metadata
 * Request Headers, section 2, for any loopback address) and, in that mode, `Origin`.
 */
function gatewayRefusal(
  headers: HeaderList,
  host: string | null,
  allowed: ReadonlySet<string>,
): Refusal | null {
  if (host === null || !allowed.has(host.toLowerCase()))
    return notForGateway("this Host is not the gateway's");
  const fromPage = headers.some(
    ([name, value]) =>
      /^(?:origin|sec-fetch-.*)$/i.test(name) && !/^sec-fetch-mode: cors$/i.test(`${name}: ${value}`),
  );
  return fromPage ? notForGateway("the gateway does not serve web pages") : null;
}

function planGateway(
  head: RequestHead,
  route: GatewayRoute,
  proxyUser: string | null,
  takesProxyCredentials: boolean,
): RequestPlan {
  const rest = `${route.basePath}${head.target.slice(route.prefix.length)}`;
  const target = rest.startsWith("/") ? rest : `/${rest}`;
  const authority = formatAuthority(route, route.tls ? 443 : 80);
  const remove = ["x-meter-project", ...(takesProxyCredentials ? ["proxy-authorization"] : [])];
  return {
    key: `gateway ${route.prefix} ${proxyUser ?? ""}`,
    mode: "gateway",
    host: route.host,
    port: route.port,
    tls: route.tls,
    project: headerValue(head.headers, "x-meter-project"),
    proxyUser,
    upstreamHead: (raw) => rewriteRequestHead(raw, { target, set: { host: authority }, remove }),
    parentHead: (raw, parent) =>
      rewriteRequestHead(raw, {
        target: `http://${authority}${target}`,
        set: { host: authority, ...credentials(parent) },
        remove: [...remove, "proxy-*"],
      }),
  };
}
