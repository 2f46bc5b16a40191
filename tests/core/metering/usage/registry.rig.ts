import { createRegistry, type Registry } from "../../../../core/metering/usage/registry.ts";
import type { RouteMatch } from "../../../../core/metering/usage/route.ts";

/** The registry of the built-in providers. */
export const registry = createRegistry();

/** Describes a match: `provider api kind [model] [streaming] [flags] [billing] [+extras]`, or why there is none. */
export function spell(match: RouteMatch): string {
  if (match.kind === "not_provider") return match.kind;
  if (match.kind !== "metered") return `${match.provider} ${match.kind}`;
  const { provider, api, requestKind, model, streaming, fetches, webSocket, billing, extras } = match;
  return [
    provider,
    api,
    requestKind,
    ...(model === null ? [] : [model]),
    ...(streaming === null ? [] : [streaming]),
    ...(fetches ? ["fetches"] : []),
    ...(webSocket ? ["webSocket"] : []),
    ...(billing === undefined ? [] : [billing]),
    ...Object.keys(extras ?? {}).map((name) => `+${name}`),
  ].join(" ");
}

/** Matches `METHOD url` and describes the match. */
export function matchUrl(request: string, from: Registry = registry): string {
  const [method = "", url = ""] = request.split(" ");
  const { protocol, hostname, port } = new URL(url);
  const path = url.slice(url.indexOf("/", protocol.length + 2));
  const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
  return spell(from.match({ host: hostname, port: number, method, path }));
}
