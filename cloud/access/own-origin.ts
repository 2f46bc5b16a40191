/**
 * Whether a request came from one of our own pages, by its `Origin` (RFC 6454, section 7). Browsers send it with every
 * request that changes something; a missing or `null` origin is not our own.
 */
export function isOwnOrigin(origin: string | undefined, baseUrl: string): boolean {
  return origin !== undefined && URL.canParse(baseUrl) && origin === new URL(baseUrl).origin;
}

/**
 * Whether `Sec-Fetch-Site` says that a page of another origin made the request. Without the header, only `Origin` decides.
 * Source: Fetch Metadata Request Headers, section 2.4.
 */
export function isCrossOriginFetch(fetchSite: string | undefined): boolean {
  return fetchSite === "cross-site" || fetchSite === "same-site";
}
