/** A received request: the exact bytes of the head, and the body without its framing. */
export interface ReceivedRequest {
  method: string;
  target: string;
  headers: readonly (readonly [name: string, value: string])[];
  head: Buffer;
  body: Buffer;
}

/** Returns the first value of a header; `null` if it is absent. */
export function requestHeader(request: ReceivedRequest, lowerCaseName: string): string | null {
  return request.headers.find(([name]) => name.toLowerCase() === lowerCaseName)?.[1] ?? null;
}

interface Callbacks {
  /** The head is complete and a body follows. Respond to `Expect: 100-continue` here. */
  head(request: ReceivedRequest): void;
  request(request: ReceivedRequest): void;
  unreadable(reason: string): void;
}

type Phase =
  | { kind: "head" }
  | { kind: "length"; left: number }
  | { kind: "chunk_size" }
  | { kind: "chunk_data"; left: number }
  | { kind: "trailers" }
  | { kind: "stopped" };

/** Parses the requests of a connection. */
export interface RequestParser {
  push(bytes: Buffer): void;
}

/**
 * Creates a strict parser of HTTP/1.1 requests. It is deliberately independent of `core/metering/exchange`, because the
 * simulation must not rely on the code under test.
 */
export function createRequestParser(callbacks: Callbacks): RequestParser {
  let rest: Buffer = Buffer.alloc(0);
  let phase: Phase = { kind: "head" };
  let current: ReceivedRequest | null = null;
  let body: Buffer[] = [];

  function finish(): void {
    const request = current!;
    request.body = Buffer.concat(body);
    current = null;
    body = [];
    phase = { kind: "head" };
    callbacks.request(request);
  }

  function stop(reason: string): boolean {
    phase = { kind: "stopped" };
    callbacks.unreadable(reason);
    return false;
  }

  /** Parses one element. Returns false if more bytes are needed. */
  function step(): boolean {
    switch (phase.kind) {
      case "stopped":
        return false;
      case "head": {
        const end = rest.indexOf("\r\n\r\n");
        if (end < 0) return rest.length > 262_144 ? stop("head too large") : false;
        const head = rest.subarray(0, end + 4);
        rest = rest.subarray(end + 4);
        const parsed = parseHead(head);
        if (typeof parsed === "string") return stop(parsed);
        current = parsed;
        const length = requestHeader(parsed, "content-length");
        const coding = requestHeader(parsed, "transfer-encoding");
        if (length !== null && coding !== null) return stop("both framings");
        if (coding !== null) {
          if (coding.toLowerCase() !== "chunked") return stop(`unknown transfer coding: ${coding}`);
          phase = { kind: "chunk_size" };
        } else if (length !== null) {
          if (!/^\d+$/.test(length)) return stop(`bad length: ${length}`);
          phase = { kind: "length", left: Number(length) };
        } else {
          finish();
          return true;
        }
        callbacks.head(parsed);
        return true;
      }
      case "length":
      case "chunk_data": {
        const taken = rest.subarray(0, phase.left);
        if (taken.length > 0) body.push(taken);
        rest = rest.subarray(taken.length);
        phase.left -= taken.length;
        if (phase.left > 0) return false;
        if (phase.kind === "length") {
          finish();
          return true;
        }
        if (rest.length < 2) return false;
        if (rest.toString("latin1", 0, 2) !== "\r\n") return stop("chunk without its end");
        rest = rest.subarray(2);
        phase = { kind: "chunk_size" };
        return true;
      }
      case "chunk_size": {
        const end = rest.indexOf("\r\n");
        if (end < 0) return false;
        const line = rest.toString("latin1", 0, end);
        if (!/^[0-9a-f]+(;.*)?$/i.test(line)) return stop(`bad chunk size: ${line}`);
        rest = rest.subarray(end + 2);
        const left = Number.parseInt(line, 16);
        phase = left === 0 ? { kind: "trailers" } : { kind: "chunk_data", left };
        return true;
      }
      case "trailers": {
        const end = rest.indexOf("\r\n");
        if (end < 0) return false;
        rest = rest.subarray(end + 2);
        if (end === 0) finish();
        return true;
      }
    }
  }

  return {
    push(bytes) {
      rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      while (step()) {
        // Parse until more bytes are needed.
      }
    },
  };
}

function parseHead(head: Buffer): ReceivedRequest | string {
  const [line = "", ...fields] = head.toString("latin1").slice(0, -4).split("\r\n");
  const match = /^([A-Z]+) (\S+) HTTP\/1\.1$/.exec(line);
  if (match === null) return `bad request line: ${line.slice(0, 80)}`;
  const headers: [string, string][] = [];
  for (const field of fields) {
    const colon = field.indexOf(":");
    if (colon < 1) return `bad header line: ${field.slice(0, 80)}`;
    headers.push([field.slice(0, colon), field.slice(colon + 1).trim()]);
  }
  return { method: match[1]!, target: match[2]!, headers, head: Buffer.from(head), body: Buffer.alloc(0) };
}
