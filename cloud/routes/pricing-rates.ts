import type { Context } from "hono";
import { hashText } from "../../core/hash-text.ts";
import type { CloudEnv, CloudParts } from "../ports.ts";
import type { CurrentRates } from "../store/rates.ts";

/** The text of published rates with its tag, made once for each set. */
const texts = new WeakMap<CurrentRates["published"], { readonly text: string; readonly etag: string }>();

/** `GET /v1/pricing/rates`; 304 to a client that has them (RFC 9110, section 13.1.2). */
export async function getRates(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const { published } = await parts.rates.current();
  let entry = texts.get(published);
  if (entry === undefined) {
    const text = JSON.stringify(published);
    entry = { text, etag: `"${hashText(text, parts.sha256)}"` };
    texts.set(published, entry);
  }
  const { text, etag } = entry;
  const headers = { etag, "cache-control": "private, no-cache" };
  if (matches(context.req.header("if-none-match"), etag)) return context.body(null, 304, headers);
  return context.body(text, 200, { ...headers, "content-type": "application/json" });
}

/** Compares weakly, as a conditional GET does: a proxy that compresses may have marked the tag so. */
function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}
