import { type HeaderList, headerValue, type RequestHead } from "../../core/metering/exchange/head.ts";
import { rewriteRequestHead } from "../../core/metering/exchange/request-head-rewrite.ts";
import { formatAuthority, parseAuthority } from "./authority.ts";
import type { ParentProxy } from "./parent-proxy.ts";
import type { GatewayRoute } from "./proxy-config.ts";
import type { Refusal } from "./relay-context.ts";

/** The target of a request in plain http, and how to rewrite its head. */
export interface RequestPlan {
  /** Requests of one key share an upstream connection. */
  readonly key: string;
  readonly mode: "gateway" | "absolute";
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** The value of `X-Meter-Project`, a header that gateway mode removes. */
  readonly project: string | null;
  readonly proxyUser: string | null;
  /** Rewrites the head for the upstream. */
  readonly upstreamHead: (raw: Uint8Array) => Uint8Array;
  /** Rewrites the head for a parent proxy for plain http, with the credentials for that proxy. */
  readonly parentHead: (raw: Uint8Array, parent: ParentProxy) => Uint8Array;
}

const absoluteForm = /^http:\/\/([^/?#]*)(\/[^?#]*)?(\?[^#]*)?$/i;

const malformed = (text: string): Refusal => ({ status: 400, reason: "malformed", text });
const gatewayRefused = (text: string): Refusal => ({ status: 403, reason: "gateway_refused", text });

/** Plans a request in absolute or origin form, or refuses it. */
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
  if (hosts.length > 1) return malformed("the request has more than one Host header");
  const host = hosts[0]?.[1] ?? null;
  if (!head.target.startsWith("/")) return planAbsolute(head, host, options.proxyUser);
  const route = findRoute(head.target, options.gatewayRoutes);
  if (route === null) {
    return malformed("this is a proxy; use CONNECT, an http:// URL or a path with a gateway prefix");
  }
  const refusal = checkGatewayRequest(head.headers, host, options.gatewayHosts);
  return refusal ?? planGateway(head, route, options.proxyUser, options.takesProxyCredentials);
}

/** Whether the request was refused. */
export function isRefusal(plan: RequestPlan | Refusal): plan is Refusal {
  return "status" in plan;
}

function planAbsolute(
  head: RequestHead,
  host: string | null,
  proxyUser: string | null,
): RequestPlan | Refusal {
  const [, authorityText, path = "", query = ""] = absoluteForm.exec(head.target) ?? [];
  const authority = authorityText === undefined ? null : parseAuthority(authorityText, 80);
  if (authority === null) return malformed("the request target is neither a path nor an http:// URL");
  if (host === null && head.version !== "HTTP/1.0") return malformed("the request has no Host header");
  const isAsteriskForm = head.method === "OPTIONS" && path === "" && query === ""; // RFC 9112, section 3.2.4
  const target = isAsteriskForm ? "*" : `${path === "" ? "/" : path}${query}`;
  // RFC 9112, section 3.2.2: the target's authority takes precedence over Host.
  const hostAuthority = host === null ? null : parseAuthority(host, 80);
  const isSameHost =
    host === null || (hostAuthority?.host === authority.host && hostAuthority.port === authority.port);
  const set = isSameHost ? {} : { host: formatAuthority(authority, 80) };
  return {
    key: `absolute ${formatAuthority(authority)} ${proxyUser ?? ""}`,
    mode: "absolute",
    ...authority,
    tls: false,
    project: null,
    proxyUser,
    upstreamHead: (raw) => rewriteRequestHead(raw, { target, set, remove: ["proxy-*"] }),
    parentHead: (raw, parent) =>
      rewriteRequestHead(raw, {
        target: `http://${formatAuthority(authority, 80)}${isAsteriskForm ? "" : target}`,
        set: { ...set, ...parentCredentials(parent) },
        remove: ["proxy-*"],
      }),
  };
}

function parentCredentials(parent: ParentProxy): Record<string, string> {
  return parent.authorization === null ? {} : { "proxy-authorization": parent.authorization };
}

function findRoute(target: string, routes: readonly GatewayRoute[]): GatewayRoute | null {
  const prefix = /^\/[^/?]*/.exec(target)?.[0];
  return routes.find((route) => route.prefix === prefix) ?? null;
}

/**
 * Refuses a gateway request that a web page may have sent: it has another `Host`, or headers that only browsers send.
 *
 * Decision: `Sec-Fetch-Mode: cors` alone is accepted. Node's `fetch` sends it with every request, so refusing it would
 * exclude every SDK on Node. A browser sends `Sec-Fetch-Site` and `Sec-Fetch-Dest` with it (Fetch Metadata Request Headers,
 * section 2, for any loopback address) and, in that mode, `Origin`.
 */
function checkGatewayRequest(
  headers: HeaderList,
  host: string | null,
  allowed: ReadonlySet<string>,
): Refusal | null {
  if (host === null || !allowed.has(host.toLowerCase()))
    return gatewayRefused("the Host header does not name the gateway");
  const isFromPage = headers.some(
    ([name, value]) =>
      /^(?:origin|sec-fetch-.*)$/i.test(name) && !/^sec-fetch-mode: cors$/i.test(`${name}: ${value}`),
  );
  return isFromPage ? gatewayRefused("the gateway does not serve web pages") : null;
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
        set: { host: authority, ...parentCredentials(parent) },
        remove: [...remove, "proxy-*"],
      }),
  };
}
