import type { CallCut } from "../../core/budgets/refusal/create-cut.ts";
import { CR, LF } from "../../core/metering/exchange/bytes.ts";
import { headerValue, type ResponseHead } from "../../core/metering/exchange/head.ts";
import type { MessageReader } from "../../core/metering/exchange/message-reader.ts";

/** The order to end a call in flight. */
export interface CutOrder extends CallCut {
  readonly connection: number;
  /** As in `CallQuestion`: the turns of a WebSocket have negative numbers. */
  readonly request: number;
  readonly budget: string;
}

/** How long to wait for the end of an event before the connection is closed, in milliseconds. Source: docs/specification.md#budgets. */
export const MAX_CUT_WAIT_MS = 2_000;

/** Ends the response to one request of a connection. The connection's response reader calls the first five functions. */
export interface ResponseCut {
  started(): void;
  head(head: ResponseHead): void;
  /** An interim response has ended. */
  informational(): void;
  body(bytes: Uint8Array): void;
  /** The response to the oldest request has ended. */
  ended(): void;
  order(order: CutOrder): void;
  /** Whether a response is to be ended. Its bytes must then be relayed in the pieces of `piecesOf()`. */
  readonly isOrdered: boolean;
  /** Must be called after the bytes that the reader has read were relayed. */
  relayed(): void;
  stop(): void;
}

/** The most bytes that show the end of an event. */
const EVENT_END_BYTES = 4;

interface CutPorts {
  reader(): MessageReader;
  /** The requests whose responses have not ended, oldest first. */
  pending(): readonly { readonly number: number }[];
  /** Closes the connection after these bytes; null: abruptly, so that the client does not take the response for complete. */
  end(order: CutOrder, bytes: Uint8Array | null): void;
}

interface CutState extends CutPorts {
  /** Which part of the current response was relayed last. */
  phase: "nothing" | "head" | "body";
  current: ResponseHead | null;
  /** The latest bytes of its body. */
  tail: Uint8Array | null;
  order: CutOrder | null;
  timer: NodeJS.Timeout | null;
}

/** Creates the response cut of a connection. */
export function createResponseCut(ports: CutPorts): ResponseCut {
  const state: CutState = {
    ...ports,
    ...{ phase: "nothing", current: null, tail: null, order: null, timer: null },
  };
  return {
    started() {
      state.phase = "head";
    },
    head(head) {
      state.phase = "body";
      state.current = head;
    },
    informational() {
      state.phase = "nothing";
    },
    body(bytes) {
      const isLong = state.tail === null || bytes.length >= EVENT_END_BYTES;
      state.tail = isLong
        ? bytes
        : Buffer.concat([(state.tail as Uint8Array).slice(-EVENT_END_BYTES), bytes]);
    },
    ended() {
      state.phase = "nothing";
      state.current = null;
      state.tail = null;
    },
    order(order) {
      if (state.order !== null || !isPending(state, order)) return;
      state.order = order;
      state.timer = setTimeout(() => endResponse(state, order, null), MAX_CUT_WAIT_MS);
      cutIfPossible(state);
    },
    get isOrdered() {
      return state.order !== null;
    },
    relayed: () => cutIfPossible(state),
    stop: () => stop(state),
  };
}

const isPending = ({ pending }: CutState, { request }: CutOrder) =>
  pending().some(({ number }) => number === request);

function stop(state: CutState): void {
  if (state.timer !== null) clearTimeout(state.timer);
  state.timer = null;
  state.order = null;
}

function endResponse(state: CutState, order: CutOrder, bytes: Uint8Array | null): void {
  stop(state);
  state.end(order, bytes);
}

function cutIfPossible(state: CutState): void {
  const { order, pending, phase, current } = state;
  if (order === null) return;
  if (!isPending(state, order)) return stop(state);
  // Earlier responses are relayed first.
  if (pending()[0]?.number !== order.request || phase === "head") return;
  if (phase === "nothing") return endResponse(state, order, order.response);
  if (current === null || !takesEvent(current, order)) return endResponse(state, order, null);
  const bytes = eventBytes(state, order);
  if (bytes !== null) endResponse(state, order, bytes);
}

/** Whether the event can be inserted into the response: an uncompressed stream of the event's type without a fixed length. */
function takesEvent({ headers }: ResponseHead, { event }: CutOrder): boolean {
  const type = headerValue(headers, "content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  const encoding = headerValue(headers, "content-encoding") ?? "identity";
  const isFixed = headerValue(headers, "content-length") !== null;
  return event !== null && type === event.mediaType && encoding === "identity" && !isFixed;
}

/** Returns the bytes that end the stream here; null in the middle of an event. */
function eventBytes({ tail, reader }: CutState, { event }: CutOrder): Uint8Array | null {
  if (event === null || (tail !== null && !endsEvent(tail, event.mediaType))) return null;
  const how = reader().insertion();
  if (how === "bytes") return event.bytes;
  if (how === null) return null;
  const text = (of: string) => new TextEncoder().encode(of);
  const parts = [text(`${event.bytes.length.toString(16)}\r\n`), event.bytes, text("\r\n0\r\n\r\n")];
  return Buffer.concat(parts);
}

/** Whether these bytes of a body end an event: with an empty line, or in lines of JSON with the end of any line. */
function endsEvent(bytes: Uint8Array, mediaType: string): boolean {
  const last = bytes.at(-1);
  if (mediaType !== "text/event-stream") return last === LF;
  if (last === CR) return bytes.at(-2) === CR;
  return last === LF && (bytes.at(-2) === LF || (bytes.at(-2) === CR && bytes.at(-3) === LF));
}

/** Divides bytes after each line, because an event may end there. */
export function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; ) {
    const found = bytes.indexOf(LF, from);
    const to = found === -1 ? bytes.length : found + 1;
    yield bytes.subarray(from, to);
    from = to;
  }
}
