import { isObject } from "../../values/json-object.ts";
import type { EventStreamMessage } from "../exchange/event-stream-reader.ts";
import { compileMemberPaths, type PickedMembers, pickMembers } from "./member-picker.ts";
import { asObject } from "./token-counts.ts";
import type { ProviderError } from "./usage-report.ts";

/** The members in which providers put errors. Some APIs add `message.…` and `response.…` in their readers. */
export const ERROR_MEMBERS = [
  "error",
  "message",
  "type",
  "code",
  "detail",
  "status",
  "__type",
  "base_resp",
] as const;

/** Maximum characters kept of an error that is not JSON (a proxy's HTML page, plain text), and of an error type or code. */
const MAX_TEXT_LENGTH = 1024;
const MAX_CODE_LENGTH = 128;

/**
 * Reads the error in a message; null if there is none. With an error status, any of the known members may describe the
 * error; after a 200, only an `error` member or an event of type `error` counts.
 *
 * - Anthropic `{type: "error", error: {type, message, details: {error_code}}}`
 * - OpenAI and compatible APIs `{error: {message, type, code}}`, a Responses event `{type: "error", code, message}`, a failed
 *   response `{response: {error: {code, message}}}`; over a WebSocket `{type: "error", status: 400, error: {…}}`
 * - Google `{error: {code: 429, message, status, details: [{reason}]}}`
 * - OpenRouter `{error: {code: 429, message, metadata: {error_type}}}`, also in a chunk after a 200
 * - Mistral `{type, code, message}` or `{detail: [{msg, type}]}`; xAI `{code, error: "text"}`; Ollama `{error: "text"}`;
 *   AWS `{__type, message}`
 * - MiniMax `{base_resp: {status_code: 1008, status_msg}}` after a 200, where 0 is no error
 */
export function readProviderError(message: PickedMembers, failed: boolean): ProviderError | null {
  const error =
    message.value("error") ??
    message.value("response.error") ??
    message.value("response.status_details.error");
  // Over a WebSocket, or in an event after a 200, the status is next to the error.
  const outerStatus = statusOf(message.value("status"));
  if (isObject(error)) return fromErrorObject(error, outerStatus);
  const baseError = fromBaseResponse(message.value("base_resp"));
  if (baseError !== null) return baseError;
  const hasErrorText = typeof error === "string" && error !== "";
  if (!hasErrorText && !failed && message.value("type") !== "error") return null;
  const detail = message.value("detail");
  const firstDetail = asObject(Array.isArray(detail) ? detail[0] : undefined);
  const type = shortText(message.value("type"));
  const found: ProviderError = {
    // The type of an error event is always `error`.
    type:
      (type === "error" ? null : type) ?? shortText(message.value("__type")) ?? shortText(firstDetail.type),
    code: shortText(message.value("code")),
    message: hasErrorText ? error : firstText(message.value("message"), detail, firstDetail.msg),
    status: outerStatus,
  };
  return found.type === null && found.code === null && found.message === null ? null : found;
}

/** Returns the error of a body that is not JSON: its truncated text. */
export function errorFromText(text: string): ProviderError | null {
  const trimmed = text.trim().slice(0, MAX_TEXT_LENGTH);
  return trimmed === "" ? null : { type: null, code: null, message: trimmed, status: null };
}

/** Returns the `error` object of a message if it may state a limit, otherwise null. */
export function findLimitError(message: PickedMembers): unknown {
  const error = message.value("error");
  if (!isObject(error)) return null;
  return error.type === "usage_limit_reached" || Array.isArray(error.details) ? error : null;
}

const FRAME_MEMBERS = compileMemberPaths(["message", "Message", "originalMessage", "originalStatusCode"]);

/**
 * Reads an error that AWS sends as an event stream message after a 200: a declared exception with a JSON payload, or an
 * undeclared error that is described in the headers only.
 */
export function errorFromFrame(frame: EventStreamMessage): ProviderError {
  const members = pickMembers(frame.payload, FRAME_MEMBERS);
  return {
    type: shortText(frame.header(":exception-type")) ?? shortText(frame.header(":error-code")),
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

function fromErrorObject(
  error: Readonly<Record<string, unknown>>,
  outerStatus: number | null,
): ProviderError {
  const details = error.details;
  const reason = Array.isArray(details)
    ? details.map((entry) => asObject(entry).reason).find((value) => shortText(value) !== null)
    : asObject(details).error_code;
  const metadata = asObject(error.metadata);
  const status = statusOf(error.code) ?? statusOf(error.status) ?? outerStatus;
  const code = shortText(reason) ?? shortText(metadata.error_type);
  return {
    type: shortText(error.type) ?? shortText(error.status),
    // A number that is an error status is the status; any other number is the provider's code.
    code: code ?? (statusOf(error.code) === null ? shortText(error.code) : null),
    message: firstText(error.message),
    status,
  };
}

/** MiniMax's codes by the HTTP status that they mean. Source: platform.minimax.io, "Error codes"; 2026-11-23. */
const MINIMAX_STATUSES: Readonly<Record<number, number>> = {
  1001: 504,
  1002: 429,
  1004: 401,
  1008: 402,
  1026: 400,
  1027: 400,
  1039: 429,
  1041: 429,
  1042: 400,
  2013: 400,
  2049: 401,
  2056: 429,
};

function fromBaseResponse(value: unknown): ProviderError | null {
  const { status_code: code, status_msg: text } = asObject(value);
  if (typeof code !== "number" || code === 0) return null;
  return {
    type: null,
    code: shortText(code),
    message: firstText(text),
    status: MINIMAX_STATUSES[code] ?? 500,
  };
}

function shortText(value: unknown): string | null {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "string" && value !== "" ? value.slice(0, MAX_CODE_LENGTH) : null;
}

function firstText(...values: readonly unknown[]): string | null {
  for (const value of values) if (typeof value === "string" && value !== "") return value;
  return null;
}

function statusOf(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 400 && value < 600 ? value : null;
}
