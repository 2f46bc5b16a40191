import { createByteStore } from "./byte-store.ts";
import { CR, LF, viewOf } from "./bytes.ts";
import { type ChunkedBody, createChunkedBody } from "./chunked-body.ts";
import { REQUEST_HEADERS, requestFraming } from "./framing.ts";
import { findHeadEnd, type RequestHead, readRequestHead } from "./head.ts";
import { MAX_HEAD_BYTES } from "./message-reader.ts";
import { isUnreadable } from "./unreadable.ts";

/** Where a scan stopped, and why. */
export interface ScanStop {
  /** The index after the last byte that belongs to what was found. */
  readonly to: number;
  /** `more`: the bytes are used up. `head`: a head is complete. `end`: a request is. `unreadable`: it can't be divided further. */
  readonly found: "more" | "head" | "end" | "unreadable";
}

/**
 * Divides the bytes of a client into requests, one step at a time, so that its caller can hold each request back. Unlike
 * `createMessageReader()` it stops at each boundary and tells the index.
 */
export interface RequestScanner {
  /** Continues at `from`. After `head`, call it again even if no bytes are left: the request may have no body. */
  scan(bytes: Uint8Array, from: number): ScanStop;
  /** The head that was found last. */
  head(): RequestHead | null;
}

type Phase = "head" | "length" | "chunked" | "unreadable";

interface ScannerState {
  readonly onBody: (bytes: Uint8Array) => void;
  /** The start of an incomplete head. */
  readonly store: ReturnType<typeof createByteStore>;
  phase: Phase;
  isBeforeHead: boolean;
  remaining: number;
  chunked: ChunkedBody | null;
  head: RequestHead | null;
}

/** Creates a scanner. `onBody` receives the body without chunk framing, as views that are valid only during the call. */
export function createRequestScanner(onBody: (bytes: Uint8Array) => void): RequestScanner {
  const state: ScannerState = {
    onBody,
    store: createByteStore(),
    phase: "head",
    isBeforeHead: true,
    remaining: 0,
    chunked: null,
    head: null,
  };
  return { scan: (bytes, from) => scan(state, bytes, from), head: () => state.head };
}

function scan(state: ScannerState, bytes: Uint8Array, from: number): ScanStop {
  switch (state.phase) {
    case "head":
      return scanHead(state, bytes, from);
    case "length": {
      const to = Math.min(bytes.length, from + state.remaining);
      if (to > from) state.onBody(viewOf(bytes, from, to));
      state.remaining -= to - from;
      return state.remaining === 0 ? endRequest(state, to) : { to, found: "more" };
    }
    case "chunked":
      return scanChunks(state, state.chunked as ChunkedBody, bytes, from);
    case "unreadable":
      return { to: bytes.length, found: "unreadable" };
  }
}

function scanHead(state: ScannerState, bytes: Uint8Array, from: number): ScanStop {
  const { store } = state;
  let start = from;
  // RFC 9112, section 2.2: empty lines before a request line.
  if (state.isBeforeHead) while (bytes[start] === CR || bytes[start] === LF) start += 1;
  if (start === bytes.length) return { to: start, found: "more" };
  state.isBeforeHead = false;
  const before = store.length;
  // Most heads arrive whole, and are not copied.
  const endsAt = before === 0 ? findHeadEnd(bytes, start, start) : -1;
  if (endsAt === -1) store.append(bytes, start, Math.min(bytes.length, start + MAX_HEAD_BYTES + 1 - before));
  const whole = endsAt === -1 ? store.view() : bytes.subarray(start, endsAt);
  const end = endsAt === -1 ? findHeadEnd(whole, 0, Math.max(0, before - 1)) : whole.length;
  if ((end === -1 ? whole.length : end) > MAX_HEAD_BYTES) return giveUp(state, bytes);
  if (end === -1) return { to: bytes.length, found: "more" };
  const head = readRequestHead(whole.length === end ? whole : whole.subarray(0, end), REQUEST_HEADERS);
  const framing = isUnreadable(head) ? head : requestFraming(head);
  if (isUnreadable(head) || typeof framing === "object") return giveUp(state, bytes);
  store.clear();
  state.head = head;
  state.phase = framing === "chunked" ? "chunked" : "length";
  state.remaining = typeof framing === "number" ? framing : 0;
  state.chunked = framing === "chunked" ? createChunkedBody(state.onBody) : null;
  return { to: start + end - before, found: "head" };
}

function scanChunks(state: ScannerState, body: ChunkedBody, bytes: Uint8Array, from: number): ScanStop {
  const to = body.read(bytes, from);
  if (body.outcome === "open") return { to, found: "more" };
  return body.outcome === "ended" ? endRequest(state, to) : giveUp(state, bytes);
}

function endRequest(state: ScannerState, to: number): ScanStop {
  state.phase = "head";
  state.isBeforeHead = true;
  return { to, found: "end" };
}

function giveUp(state: ScannerState, bytes: Uint8Array): ScanStop {
  state.phase = "unreadable";
  state.store.clear();
  return { to: bytes.length, found: "unreadable" };
}
