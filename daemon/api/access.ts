import type { ConnectionOwner } from "../../core/ports/connection-owner.ts";

/** The header without which a page changes nothing: no form, image or link can send it. Source: decisions, "Daemon". */
export const REQUEST_HEADER = "x-meter-request";

/** Who may ask what. */
export interface AccessRules {
  /** The `Host` values that the API answers to, in lower case, port included. */
  readonly allowedHosts: ReadonlySet<string>;
  /** Origins of dashboards, as browsers write them. */
  readonly allowedOrigins: ReadonlySet<string>;
}

/** What is known of a request before anything is done for it. */
export interface AccessFacts {
  readonly method: string;
  readonly path: string;
  /** The authority of the request's address, which counts more than `Host` where both are sent. */
  readonly authority: string;
  readonly header: (name: string) => string | undefined;
  /** Whether it carries the secret in `<meter_home>/loopback-token`. */
  readonly hasSecret: boolean;
  /** Whose the connection is; null where the platform has no way to tell. */
  readonly owner: ConnectionOwner | null;
}

/** Why a request is refused; `code` is stable. */
export interface AccessRefusal {
  readonly ok: false;
  readonly status: 401 | 403;
  readonly code: string;
  readonly detail: string;
}

/** The origin that may read the answer, null where nobody of another origin may; or the refusal. */
export type AccessVerdict = { readonly ok: true; readonly origin: string | null } | AccessRefusal;

const refuse = (status: 401 | 403, code: string, detail: string): AccessRefusal => ({
  ok: false,
  status,
  code,
  detail,
});

const wrongOrigin = refuse(403, "origin_not_allowed", "This API does not answer to this web page.");
const secretNeeded = refuse(
  401,
  "unauthorised",
  "Send the secret in the loopback-token file of the meter's home as a bearer token.",
);

const isRead = (method: string) => method === "GET" || method === "HEAD";

/** What dashboards and every program of this machine may read: nothing of what was metered. */
const isOpen = (path: string) => path === "/health" || path.startsWith("/v1/cloud/");

/** The addresses of the local page that a person may open. */
const isPage = (path: string) => path === "/" || path.startsWith("/requests/");

/**
 * Decides on a request by its head alone, before any work is done for it.
 *
 * Decisions, where the specification is silent:
 * - A dashboard's origin reaches `/health` and `/v1/cloud/*` and, without the secret, nothing of what was metered: a
 *   project that is local-only would leave the machine through it.
 * - What was metered is read by who shows the secret, by this user's own programs where the system tells whose a
 *   connection is, and by the local page: a browser's navigation to it that no other site began, and what the page
 *   itself then asks for.
 * - Where the system should tell (Linux) and can't, only the secret counts.
 * - No origin of our own is in the list: the local page changes nothing.
 */
export function judgeAccess(facts: AccessFacts, rules: AccessRules): AccessVerdict {
  const { method, path, header, hasSecret, owner } = facts;
  const host = header("host")?.toLowerCase();
  if (
    host === undefined ||
    !rules.allowedHosts.has(host) ||
    !rules.allowedHosts.has(facts.authority.toLowerCase())
  ) {
    return refuse(403, "host_not_allowed", "This API answers to its own loopback address alone.");
  }
  if (owner === "other")
    return refuse(403, "other_user", "This meter belongs to another user of this machine.");

  const origin = header("origin");
  if (origin !== undefined) {
    if (!rules.allowedOrigins.has(origin)) return wrongOrigin;
    // A form's post is a navigation too, and carries the origin of the page that it is on.
    if (header("sec-fetch-mode") === "navigate") return wrongOrigin;
    if (method === "OPTIONS" || hasSecret) return { ok: true, origin };
    if (!isOpen(path)) return secretNeeded;
    if (isRead(method) || header(REQUEST_HEADER) === "1") return { ok: true, origin };
    return refuse(403, "request_header_missing", "A page changes state with the header X-Meter-Request: 1.");
  }

  const site = header("sec-fetch-site");
  const isNavigation = header("sec-fetch-mode") === "navigate" || header("sec-fetch-dest") === "document";
  if (isNavigation) {
    const isByPerson = site === "none" || site === "same-origin";
    if (!isByPerson || !isRead(method) || !isPage(path) || header("sec-fetch-dest") !== "document") {
      return refuse(403, "navigation_not_allowed", "Open the meter's page yourself: meter open.");
    }
  } else if (site !== undefined && site !== "same-origin") {
    if (site !== "none" || !(hasSecret || path === "/health")) return wrongOrigin;
  }

  if (hasSecret) return { ok: true, origin: null };
  if (!isRead(method)) return secretNeeded;
  if (isOpen(path)) return { ok: true, origin: null };
  if (owner === "self") return { ok: true, origin: null };
  const isOwnPage = isNavigation || site === "same-origin";
  return owner === null && isOwnPage ? { ok: true, origin: null } : secretNeeded;
}
