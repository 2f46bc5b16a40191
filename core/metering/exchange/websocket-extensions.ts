import type { HeaderList } from "./head.ts";

/** The WebSocket extensions that client and server negotiated. */
export type WebSocketExtensions =
  | { kind: "plain" }
  /** `permessage-deflate`, and whether each side uses context takeover (RFC 7692, section 7.1.1). */
  | { kind: "deflate"; clientContextTakeover: boolean; serverContextTakeover: boolean }
  /** An unsupported extension. The frames cannot be read. */
  | { kind: "unknown" };

/**
 * Reads the negotiated extensions from the head of a 101 response. Window sizes are ignored, because a decompressor may
 * always use the largest window.
 */
export function readWebSocketExtensions(headers: HeaderList): WebSocketExtensions {
  const extensions = headers
    .filter(([name]) => name.toLowerCase() === "sec-websocket-extensions")
    .flatMap(([, value]) => value.split(","))
    .map((extension) => extension.split(";").map((part) => part.trim().toLowerCase()))
    .filter(([name]) => name !== "");
  const [only] = extensions;
  if (only === undefined) return { kind: "plain" };
  const [name, ...parameters] = only;
  if (extensions.length > 1 || name !== "permessage-deflate") return { kind: "unknown" };
  return {
    kind: "deflate",
    clientContextTakeover: !parameters.includes("client_no_context_takeover"),
    serverContextTakeover: !parameters.includes("server_no_context_takeover"),
  };
}
