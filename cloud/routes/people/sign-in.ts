import type { Context } from "hono";
import { addressGroup } from "../../client-address.ts";
import { problem } from "../../errors.ts";
import { isFromElsewhere, isOwnOrigin } from "../../own-origin.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";
import type { RateLimiter } from "../../rate-limiter.ts";
import { readBytes, SMALL_PAYLOAD_BYTES } from "../../read-payload.ts";

/**
 * `/api/auth/*`: signing in, up and out, which the accounts answer. Before they do: whoever guesses is slowed down by
 * address, and no page of another site signs anybody in or out, with or without their cookies.
 */
export async function answerAuth(
  parts: CloudParts,
  perAddress: RateLimiter,
  context: Context<CloudEnv>,
): Promise<Response> {
  const { raw: request } = context.req;
  // `HEAD` comes here too, where `GET` does.
  if (request.method !== "POST") return await parts.accounts.handle(request);
  const origin = context.req.header("origin");
  const byBrowser = origin !== undefined || context.req.header("cookie") !== undefined;
  const isForeign =
    isFromElsewhere(context.req.header("sec-fetch-site")) ||
    (byBrowser && !isOwnOrigin(origin, parts.config.baseUrl));
  if (isForeign) return problem("origin_refused");
  const retryAfterSeconds = perAddress.take(addressGroup(parts.addressOf(context)), parts.clock.now());
  if (retryAfterSeconds !== null) return problem("rate_limited", { retryAfterSeconds });
  const bytes = await readBytes(request, SMALL_PAYLOAD_BYTES);
  if (!bytes.ok) return bytes.refusal;
  const { method, headers, url } = request;
  const body = new Uint8Array(bytes.value);
  return await parts.accounts.handle(new Request(url, { method, headers, body }));
}
