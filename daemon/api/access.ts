import type { ConnectionOwner } from "../../core/ports/connection-owner.ts";
import { isProgramPath } from "../page/page-paths.ts";
import { isTelemetryPath } from "./telemetry-path.ts";

/** The header that a page must send to change state. Forms, images and links can't send it. Source: docs/specification.md#loopback-api. */
export const REQUEST_HEADER = "x-meter-request";

/** The hosts and origins that may use the API. */
interface AccessRules {
  /** The `Host` values that the API answers to, in lower case, port included. */
  readonly allowedHosts: ReadonlySet<string>;
  /** Origins of dashboards, as browsers write them. */
  readonly allowedOrigins: ReadonlySet<string>;
}

/** The facts of a request that access is decided by. */
interface AccessFacts {
  readonly method: string;
  readonly path: string;
  /** The authority of the request URL. It takes precedence over `Host`. */
  readonly authority: string;
  readonly header: (name: string) => string | undefined;
  /** Whether the request carries the secret in `<meter_home>/loopback-token`. */
  readonly hasSecret: boolean;
  /** The owner of the connection. Null where the platform can't tell. */
  readonly owner: ConnectionOwner | null;
}

/** The reason a request is refused. `code` is stable. */
interface AccessRefusal {
  readonly ok: false;
  readonly status: 401 | 403;
  readonly code: string;
  readonly detail: string;
}

/** The foreign origin that may read the response (null for none), or the refusal. */
type AccessDecision = { readonly ok: true; readonly origin: string | null } | AccessRefusal;

const refuse = (status: 401 | 403, code: string, detail: string): AccessRefusal => ({
  ok: false,
  status,
  code,
  detail,
});

const originNotAllowed = refuse(403, "origin_not_allowed", "Requests from this web page are not allowed.");
const secretRequired = refuse(
  401,
  "unauthorised",
  "Send the secret from the loopback-token file in the meter home as a bearer token.",
);

const isRead = (method: string) => method === "GET" || method === "HEAD";

/** Whether every program and dashboard may read the path. No such path contains metered data. */
const isOpen = (path: string) => path === "/health" || path.startsWith("/v1/cloud/");

/**
 * Allows or refuses a request by its head alone, before any other work.
 *
 * Decisions where docs/specification.md#loopback-api is silent:
 * - Without the secret, the origin of a dashboard can read `/health` and `/v1/cloud/*` and no metered data. Otherwise
 *   data of local-only projects would leave the machine.
 * - Metered data can be read with the secret, by this user's own programs where the system tells who owns a
 *   connection, and by the local page: when a browser navigates to it (not from another site), and by the page's own
 *   requests.
 * - A navigation to a path without a page gets a 404 page. Only pages are routed for navigations.
 * - Where the system should know the owner (Linux) but does not, only the secret counts.
 * - OpenTelemetry is received from this user's own programs without the secret, and from all programs where the platform can't
 *   tell who owns a connection: it is only compared with what was metered.
 * - The API's own origin is not allowed: the local page changes no state.
 */
export function checkAccess(facts: AccessFacts, rules: AccessRules): AccessDecision {
  const { method, path, header, hasSecret, owner } = facts;
  const host = header("host")?.toLowerCase();
  if (
    host === undefined ||
    !rules.allowedHosts.has(host) ||
    !rules.allowedHosts.has(facts.authority.toLowerCase())
  ) {
    return refuse(403, "host_not_allowed", "The Host header must name this API's own loopback address.");
  }
  if (owner === "other")
    return refuse(403, "other_user", "This daemon belongs to another user of this machine.");

  const origin = header("origin");
  if (origin !== undefined) {
    if (!rules.allowedOrigins.has(origin)) return originNotAllowed;
    // Submitting a form is a navigation too, and sends the origin of the page with the form.
    if (header("sec-fetch-mode") === "navigate") return originNotAllowed;
    if (method === "OPTIONS" || hasSecret) return { ok: true, origin };
    if (!isOpen(path)) return secretRequired;
    if (isRead(method) || header(REQUEST_HEADER) === "1") return { ok: true, origin };
    return refuse(
      403,
      "request_header_missing",
      "A page must send the header X-Meter-Request: 1 to change state.",
    );
  }

  const site = header("sec-fetch-site");
  const isNavigation = header("sec-fetch-mode") === "navigate" || header("sec-fetch-dest") === "document";
  if (isNavigation) {
    const isByPerson = site === "none" || site === "same-origin";
    if (!isByPerson || !isRead(method) || isProgramPath(path) || header("sec-fetch-dest") !== "document") {
      return refuse(
        403,
        "navigation_not_allowed",
        "Other sites can't open this page. Open it yourself: meter open",
      );
    }
  } else if (site !== undefined && site !== "same-origin") {
    if (site !== "none" || !(hasSecret || path === "/health")) return originNotAllowed;
  }

  if (hasSecret) return { ok: true, origin: null };
  const isByProgram = owner !== "unknown" && site === undefined;
  if (method === "POST" && isTelemetryPath(path) && isByProgram) return { ok: true, origin: null };
  if (!isRead(method)) return secretRequired;
  if (isOpen(path)) return { ok: true, origin: null };
  if (owner === "self") return { ok: true, origin: null };
  const isOwnPage = isNavigation || site === "same-origin";
  return owner === null && isOwnPage ? { ok: true, origin: null } : secretRequired;
}
