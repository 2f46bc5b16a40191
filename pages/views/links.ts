import { type PagePlace, pageHref } from "../page-place.ts";

/** Returns the address of a session's page. */
export const sessionHref = ({ base }: Pick<PagePlace, "base">, sessionId: string): string =>
  pageHref(base, `/sessions/${encodeURIComponent(sessionId)}`);

/** Returns the address of a request's page. */
export const requestHref = ({ base }: Pick<PagePlace, "base">, requestId: string): string =>
  pageHref(base, `/requests/${encodeURIComponent(requestId)}`);
