import { createHash } from "node:crypto";
import { type ReceivedRequest, requestHeader } from "./request-parser.ts";

/** Returns the head that accepts a WebSocket upgrade (RFC 6455, section 4.2.2); `null` if the request is no upgrade. */
export function webSocketAccept(request: ReceivedRequest): string | null {
  const key = requestHeader(request, "sec-websocket-key");
  if (requestHeader(request, "upgrade")?.toLowerCase() !== "websocket" || key === null) return null;
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  return [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept}`,
    "",
    "",
  ].join("\r\n");
}
