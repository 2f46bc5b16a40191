import type { EventStreamMessage } from "../exchange/event-stream-reader.ts";
import { type PickedMembers, pickMembers, wantMembers } from "./member-picker.ts";
import { isObject, membersOf } from "./token-counts.ts";
import type { ProviderError } from "./usage-report.ts";

/** Where providers put what went wrong; `message.…` and `response.…` of some APIs stand in their readers. */
export const ERROR_MEMBERS = ["error", "message", "type", "code", "detail", "status", "__type"] as const;

/** Longest text that is kept of an error that is no JSON (a proxy's page, plain text), and of type and code. */
const MAX_TEXT_LENGTH = 1024;
const MAX_WORD_LENGTH = 128;

/**
 * What a message says about a failure, or null when it is none. An answer with an error status may put it anywhere that
 * its provider likes; after a 200 only an `error` member or an event of type `error` is one.
 *
 * - Anthropic `{type: "error", error: {type, message, details: {error_code}}}`
 * - OpenAI and its kin `{error: {message, type, code}}`, a Responses event `{type: "error", code, message}`, a failed
 *   response `{response: {error: {code, message}}}`; over a WebSocket `{type: "error", status: 400, error: {…}}`
 * - Google `{error: {code: 429, message, status, details: [{reason}]}}`
 * - OpenRouter `{error: {code: 429, message, metadata: {error_type}}}`, also in a chunk after a 200
 * - Mistral `{type, code, message}` or `{detail: [{msg, type}]}`; xAI `{code, error: "text"}`; Ollama `{error: "text"}`;
 *   AWS `{__type, message}`
 */
export function readProviderError(message: PickedMembers, failed: boolean): ProviderError | null {
  const error =
    message.value("error") ??
    message.value("response.error") ??
    message.value("response.status_details.error");
  // Over a WebSocket, or in an event after a 200, the status stands beside the error.
  const beside = statusOf(message.value("status"));
  if (isObject(error)) return fromErrorObject(error, beside);
  const told = typeof error === "string" && error !== "";
  if (!told && !failed && message.value("type") !== "error") return null;
  const detail = message.value("detail");
  const firstDetail = membersOf(Array.isArray(detail) ? detail[0] : undefined);
  const type = word(message.value("type"));
  const found: ProviderError = {
    // The type of an error event is `error`, which says nothing.
    type: (type === "error" ? null : type) ?? word(message.value("__type")) ?? word(firstDetail.type),
    code: word(message.value("code")),
    message: told ? error : firstText(message.value("message"), detail, firstDetail.msg),
    status: beside,
  };
  return found.type === null && found.code === null && found.message === null ? null : found;
}

/** An error whose body is no JSON: the text itself, cut. */
export function errorFromText(text: string): ProviderError | null {
  const trimmed = text.trim().slice(0, MAX_TEXT_LENGTH);
  return trimmed === "" ? null : { type: null, code: null, message: trimmed, status: null };
}

const FRAME_MEMBERS = wantMembers(["message", "Message", "originalMessage", "originalStatusCode"]);

/**
 * An error that AWS sends as a message of an event stream, after a 200: an exception that the API declares, with a JSON
 * object as its payload, or an error that it does not declare, which stands in the headers alone.
 */
export function errorFromFrame(frame: EventStreamMessage): ProviderError {
  const members = pickMembers(frame.payload, FRAME_MEMBERS);
  return {
    type: word(frame.header(":exception-type")) ?? word(frame.header(":error-code")),
    code: null,
    message: firstText(
      members.value("message"),
      members.value("Message"),
      members.value("originalMessage"),
      frame.header(":error-message"),
    ),
    status: statusOf(members.value("originalStatusCode")),
  };
}

function fromErrorObject(error: Readonly<Record<string, unknown>>, beside: number | null): ProviderError {
  const details = error.details;
  const reason = Array.isArray(details)
    ? details.map((entry) => membersOf(entry).reason).find((value) => word(value) !== null)
    : membersOf(details).error_code;
  const metadata = membersOf(error.metadata);
  const status = statusOf(error.code) ?? statusOf(error.status) ?? beside;
  const code = word(reason) ?? word(metadata.error_type);
  return {
    type: word(error.type) ?? word(error.status),
    // A number that is an HTTP status is the status; any other number is the provider's own code.
    code: code ?? (statusOf(error.code) === null ? word(error.code) : null),
    message: firstText(error.message),
    status,
  };
}

function word(value: unknown): string | null {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "string" && value !== "" ? value.slice(0, MAX_WORD_LENGTH) : null;
}

function firstText(...values: readonly unknown[]): string | null {
  for (const value of values) if (typeof value === "string" && value !== "") return value;
  return null;
}

function statusOf(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 400 && value < 600 ? value : null;
}
