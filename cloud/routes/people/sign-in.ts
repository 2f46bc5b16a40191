import type { Context } from "hono";
import { hashText } from "../../../core/values/hash-text.ts";
import { isCrossOriginFetch, isOwnOrigin } from "../../access/own-origin.ts";
import { addressGroup } from "../../http/client-address.ts";
import { problem } from "../../http/problem.ts";
import { readBytes, SMALL_PAYLOAD_BYTES } from "../../http/read-payload.ts";
import type { CloudEnv, CloudParts } from "../../ports.ts";

/**
 * `/api/auth/*`: signing in, up and out, handled by the accounts. Before that, limits attempts by address and by account, and
 * refuses requests from other sites' pages, with or without cookies.
 */
export async function handleAuth(parts: CloudParts, context: Context<CloudEnv>): Promise<Response> {
  const { signInPerAddress, wrongPasswords } = parts.limits;
  const { raw: request } = context.req;
  // Hono routes `HEAD` as `GET`, so it arrives here too.
  if (request.method !== "POST") return await parts.accounts.handle(request);
  const origin = context.req.header("origin");
  const byBrowser = origin !== undefined || context.req.header("cookie") !== undefined;
  const isForeign =
    isCrossOriginFetch(context.req.header("sec-fetch-site")) ||
    (byBrowser && !isOwnOrigin(origin, parts.config.baseUrl));
  if (isForeign) return problem("origin_refused");
  const address = addressGroup(parts.addressOf(context));
  const retryAfterSeconds = await signInPerAddress.take(address, parts.clock.now());
  if (retryAfterSeconds !== null) return problem("rate_limited", { retryAfterSeconds });
  const bytes = await readBytes(request, SMALL_PAYLOAD_BYTES);
  if (!bytes.ok) return bytes.refusal;
  const { method, url } = request;
  const headers = new Headers(request.headers);
  // better-auth also reads forms, in which `accountOf()` finds no account.
  headers.set("content-type", "application/json");
  const body = new Uint8Array(bytes.value);
  const handle = () => parts.accounts.handle(new Request(url, { method, headers, body }));
  const account = new URL(url).pathname === SIGN_IN_PATH ? accountOf(parts, bytes.value) : null;
  if (account === null) return await handle();
  const now = parts.clock.now();
  const waitSeconds = await wrongPasswords.take(account, address, now);
  if (waitSeconds !== null) return problem("rate_limited", { retryAfterSeconds: waitSeconds });
  const answer = await handle();
  if (answer.ok) await wrongPasswords.succeeded(account, address, now);
  else if (answer.status !== 401) await wrongPasswords.refund(account, now);
  return answer;
}

const SIGN_IN_PATH = "/api/auth/sign-in/email";

/** Returns a hash of the email address that a sign-in tries; null if the body has none. */
function accountOf({ sha256 }: CloudParts, bytes: Uint8Array): string | null {
  try {
    const { email } = JSON.parse(new TextDecoder().decode(bytes)) as { email?: unknown };
    return typeof email === "string" ? hashText(email.trim().toLowerCase(), sha256) : null;
  } catch {
    return null;
  }
}
