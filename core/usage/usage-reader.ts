import { type ByteStore, createByteStore } from "../exchange/byte-store.ts";
import { decodeUtf8 } from "../exchange/bytes.ts";
import { createEventStreamReader, type EventStreamMessage } from "../exchange/event-stream-reader.ts";
import { createJsonArrayReader } from "../exchange/json-array-reader.ts";
import { createNdjsonReader } from "../exchange/ndjson-reader.ts";
import { createSseReader, type SseEvent } from "../exchange/sse-reader.ts";
import { decodeBase64 } from "../wire/base64.ts";
import { type ApiReader, NO_HEADER } from "./api-reader.ts";
import { API_READERS } from "./api-readers.ts";
import { createElementPicker } from "./element-picker.ts";
import { createMemberPicker, type PickedMembers, pickMembers, wantMembers } from "./member-picker.ts";
import { errorFromFrame, errorFromText, readProviderError } from "./provider-error.ts";
import type { MeteredRoute } from "./route.ts";
import type { ProviderError, UsageReport } from "./usage-report.ts";

/**
 * A longer event, line or element is passed over, in bytes. The last event of a Responses stream repeats the whole
 * response, generated images included.
 */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

/** Messages without usage that are read at the start of a stream for its model; some hosts send a first one without it. */
const MAX_MODEL_LOOKS = 4;

/** As much of an error that is no JSON is looked at, in bytes. */
const MAX_ERROR_TEXT_BYTES = 2048;

/** The bits of `error` and of a reader's first key, which is that of its usage, in what `findKeys` answers. */
const ERROR_BIT = 1;
const USAGE_BIT = 2;

/** What is known of a response before its body. */
export interface ResponseContext {
  status: number;
  /** Not trusted, and not needed: the bytes say what they are. Errors come as `text/html`, streams as JSON. */
  contentType: string | null;
  streaming: boolean | null;
  /** The value of a response header, by its lower-case name. Without it, what stands in headers alone is not known. */
  header?: (lowerCaseName: string) => string | null;
}

/** Reads the usage out of one response's body. */
export interface UsageReader {
  /** Takes decoded bytes (no content-encoding), cut anywhere. They are not kept beyond what a cut leaves open. */
  push(bytes: Uint8Array): void;
  /** The body is over; `complete` is false when the connection ended before the framing said so. */
  end(complete: boolean): UsageReport;
}

/** What the framings have in common; `dropped` counts the messages that were passed over as too long. */
interface BodyReader {
  push(bytes: Uint8Array): void;
  end(): void;
  readonly dropped: number;
}

/**
 * Creates the reader of one response. Whether the body is JSON, a JSON array, lines of JSON or server-sent events is seen
 * from its first byte, since content types lie. It never throws, and its memory is bounded whatever comes.
 */
export function createUsageReader(route: MeteredRoute, context: ResponseContext): UsageReader {
  const api: ApiReader = API_READERS[route.api];
  const header = context.header ?? NO_HEADER;
  const messages = api.start({
    provider: route.provider,
    routeModel: route.model,
    fetches: route.fetches ?? false,
    header,
  });
  const failed = context.status >= 400;
  let error: ProviderError | null = null;
  let body: BodyReader | null = null;
  /** The last message with usage, where only the last one counts. */
  let kept: ByteStore | null = null;
  const errorText = failed ? createByteStore() : null;
  let modelLooks = 0;
  let doneSeen = false;
  let flushing = false;
  /** What was passed over before the last usage does not make it any less the last. */
  let droppedBeforeUsage = 0;

  const take = (message: PickedMembers, whole: boolean) => {
    if (failed || api.framing !== "results") error = readProviderError(message, failed) ?? error;
    messages.read(message, whole);
  };

  /** Takes one message of a stream; most of them hold nothing wanted and are left after one search. */
  const onMessage = (bytes: Uint8Array, isError: boolean) => {
    if (isDone(bytes)) {
      doneSeen = true;
      return;
    }
    const keys = api.findKeys(bytes) | (isError ? ERROR_BIT : 0);
    if (keys === 0 && (messages.knowsModel() || ++modelLooks > MAX_MODEL_LOOKS)) return;
    if (keys > ERROR_BIT) {
      droppedBeforeUsage = body!.dropped;
      if (api.lastWins && keys === USAGE_BIT && messages.knowsModel() && !flushing) {
        kept ??= createByteStore();
        kept.clear();
        kept.append(bytes, 0, bytes.length);
        return;
      }
      // This one is read at once, because of an error in it say, and is later than the one kept.
      if (!flushing && (keys & USAGE_BIT) !== 0) kept?.clear();
    }
    take(pickMembers(bytes, api.members), false);
  };

  const onElement = (json: Uint8Array) => onMessage(json, false);

  const onFrame = (frame: EventStreamMessage) => {
    const type = frame.header(":message-type");
    if (type === "exception" || type === "error") error = errorFromFrame(frame);
    else onMessage(frame.header(":event-type") === "chunk" ? chunkOf(frame.payload) : frame.payload, false);
  };

  const createBodyReader = (firstByte: number): BodyReader => {
    if (MEDIA.test(context.contentType ?? "") && !failed) return NO_BODY;
    if (api.framing === "event_stream" && firstByte < SPACE)
      return createEventStreamReader(onFrame, { maxMessageBytes: MAX_MESSAGE_BYTES });
    if (firstByte === OPEN_BRACKET)
      return createJsonArrayReader(onElement, { maxElementBytes: MAX_MESSAGE_BYTES });
    if (firstByte !== OPEN_BRACE) {
      // A page or plain text has no events, and is not told from a stream before its end.
      const onEvent = (event: SseEvent) => onMessage(event.data, event.event === "error");
      return endedByEmptyLine(createSseReader(onEvent, { maxEventBytes: MAX_MESSAGE_BYTES }));
    }
    // A whole answer may be written over several lines.
    const inLines = api.framing === "results" || (api.framing === "lines" && context.streaming !== false);
    if (inLines && !failed) return createNdjsonReader(onElement, { maxLineBytes: MAX_MESSAGE_BYTES });
    const picker =
      api.elements === null
        ? createMemberPicker(api.members)
        : createElementPicker(api.members, api.elements, (element) => messages.element?.(element));
    return { push: picker.push, end: () => take(picker.end(), true), dropped: 0 };
  };

  return {
    push(bytes) {
      let text = bytes;
      if (body === null) {
        const start = firstTextByte(bytes);
        if (start === bytes.length) return;
        body = createBodyReader(bytes[start] as number);
        text = bytes.subarray(start);
      }
      if (errorText !== null && errorText.length < MAX_ERROR_TEXT_BYTES)
        errorText.append(text, 0, Math.min(text.length, MAX_ERROR_TEXT_BYTES - errorText.length));
      body.push(text);
    },
    end(complete) {
      if (kept !== null && kept.length > 0) take(pickMembers(kept.view(), api.members), false);
      flushing = true;
      body?.end();
      if (errorText !== null && error === null) error = errorFromText(decodeUtf8(errorText.view()));
      const ended = doneSeen || (complete && (body?.dropped ?? 0) === droppedBeforeUsage);
      const findings = messages.end(ended);
      return {
        ...findings,
        ...(route.fetches && failed ? { noRecord: "not_new" as const } : {}),
        extras: { ...findings.extras, ...route.extras },
        error: withErrorType(error, failed ? header("x-amzn-errortype") : null),
      };
    },
  };
}

/** Answers that are no text: speech, images. */
const MEDIA = /^\s*(audio|image|video)\//i;

const NO_BODY: BodyReader = { push() {}, end() {}, dropped: 0 };

/** The lengths that AWS's binary messages begin with are below 2^29, so that their first byte is no character of a text. */
const SPACE = 0x20;

const CHUNK = wantMembers(["bytes"]);

/** The event of the model's own API that Bedrock wraps as `{"bytes": base64}`; the payload itself where it is none. */
function chunkOf(payload: Uint8Array): Uint8Array {
  const bytes = pickMembers(payload, CHUNK).string("bytes");
  return (bytes === null ? null : decodeBase64(bytes)) ?? payload;
}

/** AWS names the type of an error in a header, and in the body only sometimes. */
function withErrorType(error: ProviderError | null, type: string | null): ProviderError | null {
  if (type === null || (error?.type ?? null) !== null) return error;
  // An address may follow the name.
  return { code: null, message: null, status: null, ...error, type: type.replace(/:.*$/s, "") };
}

const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

const EMPTY_LINE = Uint8Array.of(0x0a, 0x0a);

/** Flushes the last event of a stream that lacks its empty line: whatever of it was closed is as good as the others. */
function endedByEmptyLine(events: BodyReader): BodyReader {
  return {
    push: events.push,
    end() {
      events.push(EMPTY_LINE);
      events.end();
    },
    get dropped() {
      return events.dropped;
    },
  };
}

/** Where the text begins behind blanks and a byte order mark, whose bytes no text begins with. */
function firstTextByte(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length && BLANKS.has(bytes[at] as number)) at++;
  return at;
}

const BLANKS: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09, 0xef, 0xbb, 0xbf]);

/** Whether an event is the `[DONE]` that ends the streams of OpenAI's family. */
function isDone(bytes: Uint8Array): boolean {
  return bytes.length === 6 && bytes[0] === OPEN_BRACKET && bytes[1] === 0x44 && bytes[5] === 0x5d;
}
