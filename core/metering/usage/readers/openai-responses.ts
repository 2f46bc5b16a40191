import { isObject } from "../../../values/json-object.ts";
import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import { createDistinctTexts, type DistinctTexts } from "../distinct-texts.ts";
import type { PickedMembers } from "../member-picker.ts";
import { asObject, firstCount, readCount } from "../token-counts.ts";
import { setExtra } from "../usage-extras.ts";
import type { NoRecordReason, UsageFindings, UsageReport } from "../usage-report.ts";
import { readOpenaiUsage } from "./openai-usage.ts";

const ANSWER = [
  "id",
  "model",
  "status",
  "background",
  "service_tier",
  "usage",
  "tool_usage",
  "tools",
  "output",
] as const;

/** Maximum size of a picked member, in bytes. The output is searched for tool calls and may contain long texts. */
const MAX_MEMBER_BYTES = 1024 * 1024;

/**
 * OpenAI Responses: single responses, streams and WebSockets. See `readOpenaiUsage` for what the totals include.
 *
 * - A stream states usage in `response` of `response.completed`, `response.incomplete` or `response.failed`.
 *   `response.created` has the model and `usage: null`. `service_tier` is the tier that was used, not the requested one.
 * - A background response starts as `queued` or `in_progress` without usage and is polled until it is complete. Only a
 *   response with usage makes a record. Any other stored response was already metered, so fetching it makes no record.
 * - `tool_usage.web_search.num_requests` is the number of billed searches. Without it, the `web_search_call` items with a
 *   search action are counted, because opening a page is not billed.
 * - Codex gets `{"type": "codex.rate_limits", "rate_limits": {"primary": {"used_percent": …}, "secondary": …}, "credits":
 *   {"has_credits": …}}` before its usage: at 100 %, credits pay. Source: openai/codex, `codex-rs/codex-api/src/rate_limits.rs`.
 * - `tool_usage.image_gen` is the usage of the image tool's own model. It is not included in `usage` and has its own price.
 */
export const openaiResponses = defineApiReader({
  members: [
    ...ANSWER,
    ...ANSWER.map((member) => `response.${member}`),
    "response.error",
    "item.id",
    "item.type",
    "item.action",
    "rate_limits",
    "credits",
    "limit_name",
    "metered_limit_name",
  ],
  keys: ["usage", "web_search_call", "file_search_call", "rate_limits"],
  maxMemberBytes: MAX_MEMBER_BYTES,
  promptMembers: ["instructions", "input"],
  finishTypes: ["response.completed", "response.incomplete", "response.failed", "error"],
  start: startResponses,
});

/** What was read of one response so far. */
interface ResponsesState {
  readonly provider: string;
  readonly fetches: boolean;
  model: string | null;
  responseId: string | null;
  serviceTier: string | null;
  usageText: string | null;
  usage: unknown;
  status: string | null;
  isBackground: boolean;
  usesCredits: boolean | null;
  limitEvent: unknown;
  toolUsage: Readonly<Record<string, unknown>>;
  imageModel: string | null;
  /** The ids of billed search items by type. An item may occur when added, when done, and in the final output. */
  readonly searches: Readonly<Record<SearchItem, DistinctTexts>>;
}

function startResponses({ provider, fetches }: AnswerFacts): MessageReader {
  const state: ResponsesState = {
    provider,
    fetches,
    model: null,
    responseId: null,
    serviceTier: null,
    usageText: null,
    usage: undefined,
    status: null,
    isBackground: false,
    usesCredits: null,
    limitEvent: null,
    toolUsage: {},
    imageModel: null,
    searches: { web_search_call: createDistinctTexts(), file_search_call: createDistinctTexts() },
  };
  return {
    knowsModel: () => state.model !== null,
    read: (message, whole) => readMessage(state, message, whole),
    end: () => endResponse(state),
  };
}

function readMessage(state: ResponsesState, message: PickedMembers, whole: boolean): void {
  const at = whole ? "" : "response.";
  state.model = message.string(`${at}model`) ?? state.model;
  state.responseId = message.string(`${at}id`) ?? state.responseId;
  state.serviceTier = message.string(`${at}service_tier`) ?? state.serviceTier;
  state.status = message.string(`${at}status`) ?? state.status;
  state.isBackground ||= message.value(`${at}background`) === true;
  addSearch(state.searches, {
    id: message.value("item.id"),
    type: message.value("item.type"),
    action: message.value("item.action"),
  });
  if (isObject(message.value("rate_limits"))) state.limitEvent = limitEventOf(message);
  const usesCredits = readUsesCredits(message);
  if (usesCredits !== null) state.usesCredits = state.usesCredits === true || usesCredits;
  const stated = message.value(`${at}usage`);
  if (!isObject(stated)) return;
  state.usage = stated;
  state.usageText = message.text(`${at}usage`);
  state.toolUsage = asObject(message.value(`${at}tool_usage`));
  state.imageModel = imageModelOf(message, at);
  if (/"(?:web|file)_search_call"/.test(message.text(`${at}output`) ?? "")) {
    const output = message.value(`${at}output`);
    if (Array.isArray(output)) for (const item of output) addSearch(state.searches, asObject(item));
  }
}

function endResponse(state: ResponsesState): UsageFindings {
  const { provider, model, responseId, serviceTier, usageText, usage, toolUsage } = state;
  const found = readOpenaiUsage({
    provider,
    model,
    responseId,
    serviceTier,
    usageText,
    usage,
    final: true,
    style: "responses",
  });
  const billed = readCount(asObject(toolUsage.web_search).num_requests);
  // Searches stated in the usage object take precedence.
  if (found.extras.web_search_requests === undefined)
    setExtra(found.extras, "web_search_requests", firstCount(billed, state.searches.web_search_call.count()));
  if (found.extras.file_search_requests === undefined)
    setExtra(found.extras, "file_search_requests", state.searches.file_search_call.count());
  const reason = noRecordReason(state);
  const image = imageReport(provider, toolUsage.image_gen, state.imageModel, responseId);
  return {
    ...found,
    ...(state.usesCredits !== null && { usesCredits: state.usesCredits }),
    ...(state.limitEvent !== null && { limitEvent: state.limitEvent }),
    ...(reason === null ? {} : { noRecord: reason }),
    ...(image === null || reason !== null ? {} : { results: [image] }),
  };
}

const limitEventOf = (message: PickedMembers): unknown =>
  Object.fromEntries(
    ["rate_limits", "credits", "limit_name", "metered_limit_name"].map((name) => [name, message.value(name)]),
  );

/** Returns null if the message does not tell. */
function readUsesCredits(message: PickedMembers): boolean | null {
  const { primary, secondary } = asObject(message.value("rate_limits"));
  const windows = [primary, secondary].filter(isObject);
  if (windows.length === 0) return null;
  if (!windows.some(({ used_percent }) => Number(used_percent) >= 100)) return false;
  const { has_credits } = asObject(message.value("credits"));
  return typeof has_credits === "boolean" ? has_credits : null;
}

function noRecordReason({ usage, fetches, status, isBackground }: ResponsesState): NoRecordReason | null {
  if (!isObject(usage) && (fetches || status === "queued" || status === "in_progress")) return "unfinished";
  return fetches && !isBackground ? "not_new" : null;
}

/** The types of the items of the output that are billed by themselves. */
type SearchItem = "web_search_call" | "file_search_call";

function addSearch(searches: ResponsesState["searches"], item: Readonly<Record<string, unknown>>): void {
  const { id, type } = item;
  if (type !== "web_search_call" && type !== "file_search_call") return;
  // Opening a page that was found is not billed.
  const action = asObject(item.action).type;
  if (action === undefined || action === "search")
    searches[type].add(typeof id === "string" ? id : String(searches[type].count()));
}

/** Returns the image tool's model from the request's tools, which the response repeats; null if they name none. */
function imageModelOf(message: PickedMembers, at: string): string | null {
  if (!message.text(`${at}tools`)?.includes('"image_generation"')) return null;
  const tools = message.value(`${at}tools`);
  const tool = Array.isArray(tools) ? tools.find((each) => asObject(each).type === "image_generation") : null;
  const { model } = asObject(tool);
  return typeof model === "string" ? model : null;
}

function imageReport(
  provider: string,
  usage: unknown,
  model: string | null,
  responseId: string | null,
): UsageReport | null {
  if (!isObject(usage) || firstCount(usage.input_tokens, 0) === 0) return null;
  const found = readOpenaiUsage({
    provider,
    model,
    responseId: responseId === null ? null : `${responseId}/image_gen`,
    serviceTier: null,
    usageText: null,
    usage,
    final: true,
    style: "responses",
  });
  return { ...found, requestKind: "image", error: null };
}
