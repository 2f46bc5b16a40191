import { etagOf, matchesEtag } from "../../http/etag.ts";
import type { PublishedRates } from "../../store/rates.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The serialized published rates with their ETag, computed once per set. */
const texts = new WeakMap<PublishedRates, { readonly text: string; readonly etag: string }>();

/** The route of the published rates; 304 if the client has the current ones (RFC 9110, section 13.1.2). */
export const ratesHandlers = {
  "GET /v1/pricing/rates": async ({ parts, context }) => {
    const published = (await parts.rates.current()).published();
    let entry = texts.get(published);
    if (entry === undefined) {
      const text = JSON.stringify(published);
      entry = { text, etag: etagOf(text, parts.sha256) };
      texts.set(published, entry);
    }
    const { text, etag } = entry;
    const headers = { etag, "cache-control": "private, no-cache" };
    if (matchesEtag(context.req.header("if-none-match"), etag)) return context.body(null, 304, headers);
    return context.body(text, 200, { ...headers, "content-type": "application/json" });
  },
} satisfies Partial<ApiHandlers>;
