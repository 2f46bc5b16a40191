import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type PerMessageDeflateOptions, type WebSocket, WebSocketServer } from "ws";
import { nothingStated, type Stated } from "./answer.ts";
import type { MeteredAnswer, PlainAnswer } from "./answer-request.ts";
import type { Delivery } from "./ledger.ts";
import { type ReceivedRequest, requestHeader } from "./request-parser.ts";

/** The key of RFC 6455's own example, section 1.3: who sends it gets an echo of its bytes instead of a session. */
const EXAMPLE_KEY = "dGhlIHNhbXBsZSBub25jZQ==";

/** Where providers answer over WebSockets. */
const SESSION_PATHS: ReadonlySet<string> = new Set(["/v1/realtime", "/v1/responses"]);

/** One answer that was given over a WebSocket. */
export interface SessionAnswer {
  found: MeteredAnswer;
  message: Buffer;
  stated: Stated;
  delivery: Delivery;
  /** What was sent of it, one message a line. */
  sent: string;
}

/** What a session needs of the simulation around it. */
export interface SessionSetting {
  socket: Socket;
  answer(request: ReceivedRequest): MeteredAnswer | PlainAnswer;
  answered(answer: SessionAnswer): void;
}

/** Whether a request opens a session that the simulation holds with real frames. */
export function opensSession(request: ReceivedRequest): boolean {
  const { pathname } = new URL(request.target, "http://simulation.invalid");
  const key = requestHeader(request, "sec-websocket-key");
  return SESSION_PATHS.has(pathname) && key !== null && key !== EXAMPLE_KEY;
}

/**
 * Compression as the query asks for it, since a provider decides: `deflate=shared` with a window that messages share,
 * `deflate=apart` without one, else none. A client that does not offer it gets none.
 */
function compressionOf(query: URLSearchParams): false | PerMessageDeflateOptions {
  const wanted = query.get("deflate");
  if (wanted === null) return false;
  const apart = wanted === "apart";
  return { threshold: 0, serverNoContextTakeover: apart, clientNoContextTakeover: apart };
}

/** Holds a session of Realtime, or of Responses, until either side has enough. */
export function holdSession(request: ReceivedRequest, setting: SessionSetting): void {
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
        // The same call as over HTTP; the answer's events become messages.
        const call = JSON.stringify({ ...body, stream: true });
        const found = setting.answer({ ...request, method: "POST", body: Buffer.from(call) });
        if (found.kind === "metered") setting.answered(giveAnswer(peer, found, message));
        else peer.close(1008, found.text.slice(0, 100));
      }
    });
    peer.on("error", () => peer.terminate());
  });
}

function giveAnswer(peer: WebSocket, found: MeteredAnswer, message: Buffer): SessionAnswer {
  const { answer, scenario } = found;
  const failed = answer.status >= 400;
  const cut = scenario.outcome === "cut";
  const parts = cut ? answer.parts.slice(0, Math.ceil(answer.parts.length / 2)) : answer.parts;
  let stated = nothingStated;
  const sent: string[] = [];
  for (const part of parts) {
    // An event of a stream has its JSON on its data line.
    const json = /^data: (.*)$/m.exec(part.text)?.[1] ?? part.text;
    const told = failed
      ? JSON.stringify({ type: "error", status: answer.status, ...JSON.parse(json) })
      : json;
    sent.push(told);
    peer.send(told);
    stated = part.stated ?? stated;
  }
  if (cut) peer.terminate();
  return { found, message, stated, delivery: cut ? "cut" : "whole", sent: sent.join("\n") };
}
