import type { UnlistedApi } from "../../metering/coverage/unlisted-hosts.ts";
import type { MeteredRoute } from "../../metering/usage/route.ts";
import { ERROR_BODIES, type ErrorShape, errorShapeOf, openaiError } from "./refusal-shapes.ts";
import { formatRefusal, type RefusalFacts } from "./refusal-text.ts";
import { type RefusedClient, stopsAt400Only } from "./refused-client.ts";

/** The answer to a refused call. */
export interface CallRefusal {
  readonly status: 400 | 429;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** JSON. */
  readonly body: string;
}

/** The longest `retry-after`, in seconds. A client that obeys it retries within a day. */
const MAX_RETRY_AFTER_SECONDS = 86_400;

/**
 * Creates the answer to a refused call: in the shape of its API's errors, and with the status at which its client stops and shows
 * the message. That is 400 for most. Claude Code and the SDKs of Anthropic and OpenAI stop at their provider's own 429,
 * because `x-should-retry: false` tells them to.
 */
export function createRefusal(
  route: Pick<MeteredRoute, "api">,
  client: RefusedClient,
  facts: RefusalFacts,
): CallRefusal {
  return createAnswer(errorShapeOf(route.api), client, formatRefusal(facts), facts.retryAfter);
}

/** Creates the answer to a call that was refused because no decision could be made. The API is recognised by its path only. */
export function createUndecidedRefusal(api: UnlistedApi | null, client: RefusedClient): CallRefusal {
  return createAnswer(api ?? "any", client, UNDECIDED, null);
}

const UNDECIDED =
  'meter: this call was not sent, because no budget decision was possible and budgets are set to fail = "closed". Check: meter status';

function createAnswer(
  shape: ErrorShape,
  client: RefusedClient,
  message: string,
  retryAfter: number | null,
): CallRefusal {
  const stopsAt429 = (shape === "anthropic" || shape === "openai") && !stopsAt400Only(client);
  const status = stopsAt429 ? 429 : 400;
  const headers: [string, string][] = [
    ["content-type", "application/json"],
    ["x-should-retry", "false"],
  ];
  // Clients that stop at 400 only are those that sleep for as long as this says.
  if (status === 429 && retryAfter !== null) {
    const seconds = Math.max(1, Math.min(Math.ceil(retryAfter), MAX_RETRY_AFTER_SECONDS));
    headers.push(["retry-after", String(seconds)]);
  }
  if (shape === "bedrock") headers.push(["x-amzn-errortype", "ValidationException"]);
  return { status, headers, body: JSON.stringify(ERROR_BODIES[shape](message)) };
}

const REASONS = { 400: "Bad Request", 429: "Too Many Requests" } as const;

/** Formats a refusal as an HTTP/1.1 response, after which the connection is closed. */
export function formatRefusalResponse({ status, headers, body }: CallRefusal, method = "POST"): Uint8Array {
  const bytes = new TextEncoder().encode(body);
  const lines = [
    `HTTP/1.1 ${status} ${REASONS[status]}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `content-length: ${bytes.length}`,
    "connection: close",
  ];
  const head = new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`);
  return method === "HEAD" ? head : new Uint8Array([...head, ...bytes]);
}

/** A client's message that begins a turn of a WebSocket. */
export interface RefusedTurn {
  /** Its `event_id`, which Realtime's clients may give. */
  readonly eventId: string | null;
}

/**
 * Returns the message that answers a refused turn of a WebSocket. Codex reads the status and shows the message; OpenAI's Realtime clients
 * match `event_id`.
 */
export function createTurnRefusal(
  route: Pick<MeteredRoute, "api">,
  { eventId }: RefusedTurn,
  facts: RefusalFacts,
): string {
  const message = formatRefusal(facts);
  if (route.api === "openai.responses")
    return JSON.stringify({ type: "error", status: 400, error: openaiError(message), headers: {} });
  return JSON.stringify({ type: "error", error: { ...openaiError(message), event_id: eventId } });
}
