import type { MeteredRoute } from "../../metering/usage/route.ts";
import {
  createRefusal,
  createTurnRefusal,
  formatRefusalResponse,
  type RefusedTurn,
} from "./create-refusal.ts";
import { anthropicError, ERROR_BODIES, errorShapeOf, openaiError } from "./refusal-shapes.ts";
import { formatRefusal, type RefusalFacts } from "./refusal-text.ts";
import type { RefusedClient } from "./refused-client.ts";

/** The bytes that end a call in flight. */
export interface CallCut {
  /** The whole response. It is sent if the provider's has not begun. */
  readonly response: Uint8Array;
  /** An error event for a stream of this media type. Null if the API has none: then the connection is closed. */
  readonly event: { readonly mediaType: string; readonly bytes: Uint8Array } | null;
  /** The message that ends a turn of a WebSocket. Null for other calls. */
  readonly turn: Uint8Array | null;
}

/** Creates the bytes that end a call, in the format of its API. `turn` is null for a request. */
export function createCut(
  route: Pick<MeteredRoute, "api">,
  client: RefusedClient,
  facts: RefusalFacts,
  { method, turn }: { readonly method: string; readonly turn: RefusedTurn | null },
): CallCut {
  const encode = (text: string) => new TextEncoder().encode(text);
  const event = createEvent(route, formatRefusal(facts));
  return {
    response: formatRefusalResponse(createRefusal(route, client, facts), method),
    event: event === null ? null : { mediaType: event.mediaType, bytes: encode(event.text) },
    turn: turn === null ? null : encode(createTurnRefusal(route, turn, facts)),
  };
}

const SSE = "text/event-stream";

function createEvent({ api }: Pick<MeteredRoute, "api">, message: string) {
  const shape = errorShapeOf(api);
  const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
  if (shape === "anthropic")
    return { mediaType: SSE, text: `event: error\n${data(anthropicError(message))}` };
  if (api === "openai.responses") return { mediaType: SSE, text: formatResponseFailure(message) };
  if (shape === "openai" || shape === "gemini")
    return { mediaType: SSE, text: data(ERROR_BODIES[shape](message)) };
  if (shape === "ollama")
    return { mediaType: "application/x-ndjson", text: `${JSON.stringify(ERROR_BODIES.ollama(message))}\n` };
  return null;
}

/**
 * Formats the two events with which OpenAI ends a failed response. Its SDKs throw on `error`, and Codex reads `response.failed`.
 */
function formatResponseFailure(message: string): string {
  const { code } = openaiError(message);
  const events = [
    { type: "error", code, message, param: null, sequence_number: 0 },
    {
      type: "response.failed",
      sequence_number: 1,
      response: {
        ...{ id: "resp_meter", object: "response", created_at: 0, status: "failed", model: "" },
        ...{ output: [], error: { code, message }, incomplete_details: null, usage: null },
      },
    },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}
