/**
 * Reads what passes on the wire and says what it was: HTTP/1.1 messages and their exchanges, event streams, JSON
 * lines, JSON arrays, and the hello of a TLS client. These readers do no I/O. They take the bytes as they came, cut
 * anywhere, and call back with heads as values and bodies as views; they hold no more than the part of a head, line or
 * event that a cut left open, within a fixed ceiling. Where two honest parsers could read the bytes differently, they
 * say `unreadable` and stop, because a wrong count is worse than a missing one.
 *
 * ```ts
 * import { createSseReader } from "./mod.ts";
 *
 * const names: string[] = [];
 * const reader = createSseReader((event) => {
 *   if (event.event === "message_delta") names.push(JSON.parse(event.text()).type);
 * });
 * const encoder = new TextEncoder();
 * reader.push(encoder.encode("event: ping\ndata: {}\n\nevent: message_delta\nda"));
 * reader.push(encoder.encode('ta: {"type":"message_delta"}\n\n'));
 * console.log(names); // [ "message_delta" ]
 * ```
 */
export type { ClientHelloReading } from "./client-hello.ts";
export { MAX_CLIENT_HELLO_BYTES, readClientHello } from "./client-hello.ts";
export type {
  EventStreamMessage,
  EventStreamReader,
  EventStreamReaderOptions,
} from "./event-stream-reader.ts";
export { createEventStreamReader } from "./event-stream-reader.ts";
export type { Direction, ExchangeReader, ExchangeSink } from "./exchange-reader.ts";
export { createExchangeReader, MAX_PIPELINED_REQUESTS } from "./exchange-reader.ts";
export type { PendingRequest } from "./framing.ts";
export { asksToSwitch } from "./framing.ts";
export type { HeaderList, RequestHead, ResponseHead } from "./head.ts";
export { headerValue } from "./head.ts";
export type { JsonArrayReader, JsonArrayReaderOptions } from "./json-array-reader.ts";
export { createJsonArrayReader, DEFAULT_MAX_ELEMENT_BYTES } from "./json-array-reader.ts";
export type {
  MessageReader,
  MessageSink,
  RequestReader,
  RequestSink,
  ResponseSink,
} from "./message-reader.ts";
export { createMessageReader, MAX_HEAD_BYTES, MAX_HELD_BYTES } from "./message-reader.ts";
export type { NdjsonReader, NdjsonReaderOptions } from "./ndjson-reader.ts";
export { createNdjsonReader, DEFAULT_MAX_LINE_BYTES } from "./ndjson-reader.ts";
export type { RequestHeadEdits } from "./request-head-rewrite.ts";
export { rewriteRequestHead } from "./request-head-rewrite.ts";
export type { SseEvent, SseReader, SseReaderOptions } from "./sse-reader.ts";
export { createSseReader, DEFAULT_MAX_EVENT_BYTES } from "./sse-reader.ts";
export type { UnreadableReason } from "./unreadable.ts";
export type { WebSocketAgreement } from "./websocket-extensions.ts";
export { readWebSocketAgreement } from "./websocket-extensions.ts";
export type {
  WebSocketMessage,
  WebSocketReader,
  WebSocketReaderOptions,
  WebSocketSink,
  WebSocketUnreadable,
} from "./websocket-reader.ts";
export { createWebSocketReader, DEFAULT_MAX_WEBSOCKET_MESSAGE_BYTES } from "./websocket-reader.ts";
