/**
 * Whether a request was made by a page of ours, by its `Origin` (RFC 6454, section 7). Browsers send it with every
 * request that changes something; one without it, or with `null`, is nobody's page of ours.
 */
export function isOwnOrigin(origin: string | undefined, baseUrl: string): boolean {
  return origin !== undefined && URL.canParse(baseUrl) && origin === new URL(baseUrl).origin;
}

/**
 * Whether the browser says that a page elsewhere made the request: of another site, or of another host of this one. Source:
 * Fetch Metadata Request Headers, section 2.4; a browser that says nothing is judged by its `Origin` alone.
 */
export function isFromElsewhere(fetchSite: string | undefined): boolean {
  return fetchSite === "cross-site" || fetchSite === "same-site";
}
