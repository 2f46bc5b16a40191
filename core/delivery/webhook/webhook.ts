import type { CloudRequest } from "../../ports/cloud-client.ts";
import type { Sha256 } from "../../values/hash.ts";
import { encodeHex } from "../../values/hash-text.ts";
import { fromHex, hmacSha256 } from "../../values/hmac.ts";
import { isUrlAuthority } from "../../values/text/url-authority.ts";
import type { Millis } from "../../values/time.ts";
import { formatInstant } from "../../wire/instant.ts";

/** The events that a webhook can be sent. */
export const WEBHOOK_EVENTS = [
  ...(["record.stored", "limit.warning", "limit.reset"] as const),
  ...(["budget.warning", "budget.exceeded", "budget.forecast", "budget.guard_tripped"] as const),
  ...(["budget.lifted", "budget.lift_ended"] as const),
] as const;

/** The name of an event. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Where events are sent. */
export interface Webhook {
  /** An https URL, or http on this machine. */
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  /** The key of the signatures, in hex. */
  readonly secretHex: string;
}

/** The hosts of this machine, with or without a port. */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/** Whether a URL is https, or http on this machine, without a login. */
export function isWebhookUrl(text: string): boolean {
  const [, scheme = "", authority = ""] = /^(https?):\/\/([^\s/?#@]+)(?:[/?][^\s#]*)?$/i.exec(text) ?? [];
  return isUrlAuthority(authority) && (scheme.toLowerCase() === "https" || LOOPBACK.test(authority));
}

const encoder = new TextEncoder();

/** The time limit of a request, in milliseconds. */
const TIMEOUT_MS = 15_000;

/** The longest response that is read, in bytes. Its content is ignored. */
const MAX_RESPONSE_BYTES = 64 * 1024;

/** The lengths of a secret in bytes. Source: Standard Webhooks, "Signature scheme". */
const SECRET_BYTES = { min: 24, max: 64 };

/** Reads a secret of the form `whsec_<base64>` as hex. Null if the text has another form, or the secret is too short or too long. */
export function readWebhookSecret(text: string): string | null {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  if (base64 === undefined || base64.length % 4 !== 0) return null;
  const binary = atob(base64);
  if (binary.length < SECRET_BYTES.min || binary.length > SECRET_BYTES.max) return null;
  return encodeHex(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
}

/**
 * Creates the request that sends an event, signed according to Standard Webhooks: HMAC-SHA-256 over id, time and body, in
 * `webhook-signature`. If a message is sent twice, both have the same `webhook-id`.
 */
export function createWebhookRequest(
  { url, secretHex }: Pick<Webhook, "url" | "secretHex">,
  event: { readonly type: string; readonly data: unknown; readonly id: string; readonly at: Millis },
  now: Millis,
  sha256: Sha256,
): CloudRequest {
  const body = JSON.stringify({ type: event.type, timestamp: formatInstant(event.at), data: event.data });
  const id = `msg_${event.id}`;
  const seconds = String(Math.floor(now / 1_000));
  const digest = hmacSha256(fromHex(secretHex), encoder.encode(`${id}.${seconds}.${body}`), sha256);
  const signature = btoa(String.fromCharCode(...fromHex(digest)));
  return {
    method: "POST",
    url,
    bearer: null,
    body,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    timeoutMs: TIMEOUT_MS,
    headers: {
      "webhook-id": id,
      "webhook-timestamp": seconds,
      "webhook-signature": `v1,${signature}`,
    },
  };
}
