import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type PerMessageDeflateOptions, type WebSocket, WebSocketServer } from "ws";
import { noUsage, type StatedUsage } from "./answer.ts";
import type { MeteredAnswer, PlainAnswer } from "./answer-request.ts";
import { type ReceivedRequest, requestHeader } from "./request-parser.ts";
import type { Delivery } from "./simulated-call.ts";

/** The example key of RFC 6455, section 1.3. A client that sends it gets an echo instead of a session. */
const EXAMPLE_KEY = "dGhlIHNhbXBsZSBub25jZQ==";

/** The paths with WebSocket sessions. */
const SESSION_PATHS: ReadonlySet<string> = new Set(["/v1/realtime", "/v1/responses"]);

/** A response sent over a WebSocket. */
interface SessionAnswer {
  found: MeteredAnswer;
  message: Buffer;
  stated: StatedUsage;
  delivery: Delivery;
  /** The sent messages, one per line. */
  sent: string;
}

/** What a session needs from the simulation. */
interface SessionContext {
  socket: Socket;
  answer(request: ReceivedRequest): MeteredAnswer | PlainAnswer;
  answered(answer: SessionAnswer): void;
}

/** Whether a request opens a WebSocket session. */
export function opensSession(request: ReceivedRequest): boolean {
  const { pathname } = new URL(request.target, "http://simulation.invalid");
  const key = requestHeader(request, "sec-websocket-key");
  return SESSION_PATHS.has(pathname) && key !== null && key !== EXAMPLE_KEY;
}

/**
 * Returns the compression selected by the query: `deflate=shared` with context takeover, `deflate=apart` without it, none
 * otherwise. A client that does not offer compression gets none.
 */
function compressionOf(query: URLSearchParams): false | PerMessageDeflateOptions {
  const wanted = query.get("deflate");
  if (wanted === null) return false;
  const apart = wanted === "apart";
  return { threshold: 0, serverNoContextTakeover: apart, clientNoContextTakeover: apart };
}

/** Runs a Realtime or Responses session until either side closes it. */
export function holdSession(request: ReceivedRequest, setting: SessionContext): void {
  const { pathname, searchParams: query } = new URL(request.target, "http://simulation.invalid");
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: compressionOf(query) });
  const headers = Object.fromEntries(request.headers.map(([name, value]) => [name.toLowerCase(), value]));
  const upgrade = { method: request.method, url: request.target, headers } as IncomingMessage;
  server.handleUpgrade(upgrade, setting.socket, Buffer.alloc(0), (peer) => {
    if (pathname === "/v1/realtime") {
      const session = { type: "realtime", model: query.get("model"), output_modalities: ["audio"] };
      peer.send(JSON.stringify({ type: "session.created", session }));
    }
    peer.on("message", (data, isBinary) => {
      const message = data as Buffer;
      if (isBinary) return peer.close(1003);
      const { type, ...body } = JSON.parse(message.toString()) as Record<string, unknown>;
      if (type === "session.update") {
        peer.send(JSON.stringify({ type: "session.updated", session: body.session }));
      } else if (type === "response.create") {
        // Compute the response like an HTTP call, and send its events as messages.
        const call = JSON.stringify({ ...body, stream: true });
        const found = setting.answer({ ...request, method: "POST", body: Buffer.from(call) });
        if (found.kind === "metered") setting.answered(sendResponse(peer, found, message));
        else peer.close(1008, found.text.slice(0, 100));
      }
    });
    peer.on("error", () => peer.terminate());
  });
}

function sendResponse(peer: WebSocket, found: MeteredAnswer, message: Buffer): SessionAnswer {
  const { answer, scenario } = found;
  const failed = answer.status >= 400;
  const cut = scenario.outcome === "cut";
  const parts = cut ? answer.parts.slice(0, Math.ceil(answer.parts.length / 2)) : answer.parts;
  let stated = noUsage;
  const sent: string[] = [];
  for (const part of parts) {
    // The JSON of a stream event is on its data line.
    const json = /^data: (.*)$/m.exec(part.text)?.[1] ?? part.text;
    const sentText = failed
      ? JSON.stringify({ type: "error", status: answer.status, ...JSON.parse(json) })
      : json;
    sent.push(sentText);
    peer.send(sentText);
    stated = part.stated ?? stated;
  }
  if (cut) peer.terminate();
  return { found, message, stated, delivery: cut ? "cut" : "whole", sent: sent.join("\n") };
}
