import { CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET } from "../../values/text/json-bytes.ts";
import { decodeBase64 } from "../../wire/base64.ts";
import { type ByteQuota, type ByteStore, createByteStore } from "../exchange/byte-store.ts";
import { decodeUtf8, SPACE } from "../exchange/bytes.ts";
import { createEventStreamReader, type EventStreamMessage } from "../exchange/event-stream-reader.ts";
import { createJsonArrayReader } from "../exchange/json-array-reader.ts";
import { createNdjsonReader } from "../exchange/ndjson-reader.ts";
import { createSseReader, type SseEvent } from "../exchange/sse-reader.ts";
import { type ApiReader, NO_HEADER } from "./api-reader.ts";
import { API_READERS } from "./api-readers.ts";
import { createElementPicker } from "./element-picker.ts";
import { compileMemberPaths, createMemberPicker, type PickedMembers, pickMembers } from "./member-picker.ts";
import { errorFromFrame, errorFromText, findLimitError, readProviderError } from "./provider-error.ts";
import type { MeteredRoute } from "./route.ts";
import type { ProviderError, UsageReport } from "./usage-report.ts";

/**
 * Maximum size of an event, line or element, in bytes; larger ones are skipped. The last event of a Responses stream repeats
 * the whole response, including generated images.
 */
export const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;

/** Maximum number of messages searched for the model at the start of a stream. Some hosts omit it in the first message. */
const MAX_MODEL_LOOKUPS = 4;

/** Maximum bytes read of an error that is not JSON. */
const MAX_ERROR_TEXT_BYTES = 2048;

/** The bits for `error` and for the reader's first key, which is the usage, in the result of `findKeys`. */
const ERROR_BIT = 1;
const USAGE_BIT = 2;

/** What is known about a response before its body. */
export interface ResponseContext {
  status: number;
  /** Used only to skip audio, images and video. The format of a body is detected from its bytes, because content types are unreliable. */
  contentType: string | null;
  streaming: boolean | null;
  /** Returns a response header by its lower-case name. Without this function, facts stated only in headers stay unknown. */
  header?: (lowerCaseName: string) => string | null;
  /** Bounds the memory of all readers that share it. A message that it has no memory for is dropped, as one that is too large. */
  quota?: ByteQuota;
}

/** Reads the usage from the body of one response. */
export interface UsageReader {
  /** Reads decoded bytes (without content encoding), split anywhere. Only incomplete items are buffered. */
  push(bytes: Uint8Array): void;
  /** Ends the body and returns the report. `complete` is false if the connection ended before the body did. */
  end(complete: boolean): UsageReport;
}

/** A reader of one framing. `dropped` counts the messages that were too long, or that the quota had no memory for. */
interface BodyReader {
  push(bytes: Uint8Array): void;
  end(): void;
  readonly dropped: number;
}

/**
 * Creates a reader of one response. The first byte of the body decides whether it is JSON, a JSON array, JSON lines or
 * server-sent events, because content types are unreliable. The reader never throws, and its memory is bounded.
 */
export function createUsageReader(route: MeteredRoute, context: ResponseContext): UsageReader {
  const state = createResponseState(route, context);
  return { push: (bytes) => pushBytes(state, bytes), end: (complete) => endBody(state, complete) };
}

interface ResponseState {
  readonly route: MeteredRoute;
  readonly context: ResponseContext;
  readonly api: ApiReader;
  readonly messages: ReturnType<ApiReader["start"]>;
  readonly header: (lowerCaseName: string) => string | null;
  readonly failed: boolean;
  readonly quota: ByteQuota | null;
  error: ProviderError | null;
  limitError: unknown;
  body: BodyReader | null;
  /** The last message with usage, for APIs where only the last one counts. */
  latestUsage: ByteStore | null;
  /** The start of a failed response, for an error that is not JSON. */
  readonly errorText: ByteStore | null;
  modelLookups: number;
  doneSeen: boolean;
  flushing: boolean;
  /** The number of messages dropped before the last usage. They do not affect whether the usage is complete. */
  droppedBeforeUsage: number;
}

function createResponseState(route: MeteredRoute, context: ResponseContext): ResponseState {
  const api: ApiReader = API_READERS[route.api];
  const header = context.header ?? NO_HEADER;
  const failed = context.status >= 400;
  const { provider, model: routeModel, responseId: routeId = null, fetches = false } = route;
  return {
    route,
    context,
    api,
    messages: api.start({ provider, routeModel, routeId, fetches, header }),
    header,
    failed,
    quota: context.quota ?? null,
    error: null,
    limitError: null,
    body: null,
    latestUsage: null,
    errorText: failed ? createByteStore() : null,
    modelLookups: 0,
    doneSeen: false,
    flushing: false,
    droppedBeforeUsage: 0,
  };
}

function pushBytes(state: ResponseState, bytes: Uint8Array): void {
  const { errorText } = state;
  let text = bytes;
  if (state.body === null) {
    const start = firstTextByte(bytes);
    if (start === bytes.length) return;
    state.body = createBodyReader(state, bytes[start] as number);
    text = bytes.subarray(start);
  }
  if (errorText !== null && errorText.length < MAX_ERROR_TEXT_BYTES)
    errorText.append(text, 0, Math.min(text.length, MAX_ERROR_TEXT_BYTES - errorText.length));
  state.body.push(text);
}

function endBody(state: ResponseState, complete: boolean): UsageReport {
  const { api, body, errorText, failed, header, latestUsage, messages, route } = state;
  if (latestUsage !== null && latestUsage.length > 0) {
    readMessage(state, pickMembers(latestUsage.view(), api.members), false);
  }
  state.flushing = true;
  body?.end();
  if (errorText !== null && state.error === null) state.error = errorFromText(decodeUtf8(errorText.view()));
  const ended = state.doneSeen || (complete && (body?.dropped ?? 0) === state.droppedBeforeUsage);
  const findings = messages.end(ended);
  return {
    ...findings,
    ...(route.fetches && failed ? { noRecord: "not_new" as const } : {}),
    extras: { ...findings.extras, ...route.extras },
    error: withErrorType(state.error, failed ? header("x-amzn-errortype") : null),
    ...(state.limitError !== null && { limitError: state.limitError }),
  };
}

function createBodyReader(state: ResponseState, firstByte: number): BodyReader {
  const { api, context, failed, messages, quota } = state;
  if (MEDIA.test(context.contentType ?? "") && !failed) return NO_BODY;
  // AWS's binary messages start with a length below 2^29, so their first byte is below any text character.
  if (api.framing === "event_stream" && firstByte < SPACE) {
    const onFrame = (frame: EventStreamMessage) => readFrame(state, frame);
    return createEventStreamReader(onFrame, { maxMessageBytes: MAX_MESSAGE_BYTES, quota });
  }
  const onJson = (json: Uint8Array) => readStreamed(state, json, false);
  if (firstByte === OPEN_BRACKET)
    return createJsonArrayReader(onJson, { maxElementBytes: MAX_MESSAGE_BYTES, quota });
  if (firstByte !== OPEN_BRACE) {
    // An HTML page or plain text is read as a stream without events.
    const onEvent = (event: SseEvent) => readStreamed(state, event.data, event.event === "error");
    return endedByEmptyLine(createSseReader(onEvent, { maxEventBytes: MAX_MESSAGE_BYTES, quota }));
  }
  // A single JSON response may span several lines.
  const inLines = api.framing === "results" || (api.framing === "lines" && context.streaming !== false);
  if (inLines && !failed) return createNdjsonReader(onJson, { maxLineBytes: MAX_MESSAGE_BYTES, quota });
  const picker =
    api.elements === null
      ? createMemberPicker(api.members)
      : createElementPicker(api.members, api.elements, (element) => messages.element?.(element));
  return { push: picker.push, end: () => readMessage(state, picker.end(), true), dropped: 0 };
}

/** Reads a message of an AWS event stream. */
function readFrame(state: ResponseState, frame: EventStreamMessage): void {
  const type = frame.header(":message-type");
  if (type === "exception" || type === "error") state.error = errorFromFrame(frame);
  else {
    const isChunk = frame.header(":event-type") === "chunk";
    readStreamed(state, isChunk ? chunkOf(frame.payload) : frame.payload, false);
  }
}

/** Reads one message of a stream. Most contain no wanted key and are skipped after one search. */
function readStreamed(state: ResponseState, bytes: Uint8Array, isError: boolean): void {
  const { api, messages, quota } = state;
  if (isDone(bytes)) {
    state.doneSeen = true;
    return;
  }
  const keys = api.findKeys(bytes) | (isError ? ERROR_BIT : 0);
  const knowsModel = messages.knowsModel?.() ?? true;
  if (keys === 0 && (knowsModel || ++state.modelLookups > MAX_MODEL_LOOKUPS)) return;
  if (keys > ERROR_BIT) {
    state.droppedBeforeUsage = state.body!.dropped;
    if (api.lastWins && keys === USAGE_BIT && knowsModel && !state.flushing) {
      state.latestUsage ??= createByteStore(quota);
      state.latestUsage.clear();
      if (state.latestUsage.append(bytes, 0, bytes.length)) return;
    }
    // This message is read now, because it has an error or cannot be stored, and supersedes the stored one.
    if (!state.flushing && (keys & USAGE_BIT) !== 0) state.latestUsage?.clear();
  }
  readMessage(state, pickMembers(bytes, api.members), false);
}

function readMessage(state: ResponseState, message: PickedMembers, isWhole: boolean): void {
  const { api, failed, messages } = state;
  if (failed || api.framing !== "results") {
    state.error = readProviderError(message, failed) ?? state.error;
    if (state.error !== null) state.limitError = findLimitError(message) ?? state.limitError;
  }
  messages.read(message, isWhole);
}

/** Matches the content types of binary media. */
const MEDIA = /^\s*(audio|image|video)\//i;

const NO_BODY: BodyReader = { push() {}, end() {}, dropped: 0 };

const CHUNK = compileMemberPaths(["bytes"]);

/** Unwraps an event of the model's own API that Bedrock wraps as `{"bytes": base64}`. Returns any other payload unchanged. */
function chunkOf(payload: Uint8Array): Uint8Array {
  const bytes = pickMembers(payload, CHUNK).value("bytes");
  return (typeof bytes === "string" ? decodeBase64(bytes) : null) ?? payload;
}

/** Adds the error type that AWS sends in a header, because the body does not always contain it. */
function withErrorType(error: ProviderError | null, type: string | null): ProviderError | null {
  if (type === null || (error?.type ?? null) !== null) return error;
  // A URL may follow the name.
  return { code: null, message: null, status: null, ...error, type: type.replace(/:.*$/s, "") };
}

const EMPTY_LINE = Uint8Array.of(0x0a, 0x0a);

/** Flushes the last event of a stream that ends without an empty line, so that its complete members are read too. */
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

/** Returns the index of the first byte that is not white space or part of a byte order mark. */
function firstTextByte(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length && BLANKS.has(bytes[at] as number)) at++;
  return at;
}

const BLANKS: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09, 0xef, 0xbb, 0xbf]);

/** Whether an event is the `[DONE]` marker that ends OpenAI-compatible streams. */
function isDone(bytes: Uint8Array): boolean {
  return bytes.length === 6 && bytes[0] === OPEN_BRACKET && bytes[1] === 0x44 && bytes[5] === CLOSE_BRACKET;
}
