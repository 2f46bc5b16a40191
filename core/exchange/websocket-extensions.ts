import type { HeaderList } from "./head.ts";

/** What both sides agreed to put around their messages. */
export type WebSocketAgreement =
  | { kind: "plain" }
  /** `permessage-deflate`: whether each side's messages share their window (RFC 7692, section 7.1.1). */
  | { kind: "deflate"; clientSharesWindow: boolean; serverSharesWindow: boolean }
  /** An extension that is not known here, so that the frames can't be read. */
  | { kind: "unknown" };

/**
 * Reads what was agreed out of the head of a 101 response, where alone it is stated. Window sizes do not matter: whoever
 * inflates may always keep the largest.
 */
export function readWebSocketAgreement(headers: HeaderList): WebSocketAgreement {
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
    clientSharesWindow: !parameters.includes("client_no_context_takeover"),
    serverSharesWindow: !parameters.includes("server_no_context_takeover"),
  };
}
