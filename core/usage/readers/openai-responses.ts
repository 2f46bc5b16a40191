import { type AnswerFacts, defineApiReader, type MessageReader } from "../api-reader.ts";
import type { PickedMembers } from "../member-picker.ts";
import { firstCount, isObject, membersOf, readCount } from "../token-counts.ts";
import { setExtra } from "../usage-extras.ts";
import type { NoRecordReason, UsageReport } from "../usage-report.ts";
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

/** The outputs of a whole answer are searched for tool calls; long texts stand among them. */
const MAX_MEMBER_BYTES = 1024 * 1024;

/**
 * OpenAI Responses, whole, streamed or over a WebSocket; see `readOpenaiUsage` for what the totals include (everything).
 *
 * - A stream states usage in `response.completed`, `response.incomplete` or `response.failed`, inside `response`;
 *   `response.created` has the model, and `usage: null`. `service_tier` there is the tier that was used, not the one
 *   asked for.
 * - A background response is answered `queued` or `in_progress`, without usage, and polled until it is done: only what
 *   states usage makes a record. A stored response that was no background one was metered when it was made, so that
 *   fetching it makes none.
 * - `tool_usage.web_search.num_requests` are the searches that are billed; without it, the `web_search_call` items count
 *   whose action is a search, since opening a page is not billed.
 * - `tool_usage.image_gen` is what the image tool's own model used, on top of `usage`, at that model's price.
 */
export const openaiResponses = defineApiReader({
  members: [
    ...ANSWER,
    ...ANSWER.map((member) => `response.${member}`),
    "response.error",
    "item.id",
    "item.type",
    "item.action",
  ],
  keys: ["usage", "web_search_call"],
  maxMemberBytes: MAX_MEMBER_BYTES,
  promptMembers: ["instructions", "input"],
  finishTypes: ["response.completed", "response.incomplete", "response.failed", "error"],
  start: startResponses,
});

function startResponses({ provider, fetches }: AnswerFacts): MessageReader {
  let model: string | null = null;
  let responseId: string | null = null;
  let serviceTier: string | null = null;
  let usageText: string | null = null;
  let usage: unknown;
  let status: string | null = null;
  let background = false;
  let toolUsage: Readonly<Record<string, unknown>> = {};
  let imageModel: string | null = null;
  /** The searches by the items' ids, since an item may come as added, done, and in the final output. */
  const searches = new Set<string>();

  const noRecord = (): NoRecordReason | null => {
    if (!isObject(usage) && (fetches || status === "queued" || status === "in_progress")) return "unfinished";
    return fetches && !background ? "not_new" : null;
  };

  return {
    knowsModel: () => model !== null,
    read(message, whole) {
      const at = whole ? "" : "response.";
      model = message.string(`${at}model`) ?? model;
      responseId = message.string(`${at}id`) ?? responseId;
      serviceTier = message.string(`${at}service_tier`) ?? serviceTier;
      status = message.string(`${at}status`) ?? status;
      background ||= message.value(`${at}background`) === true;
      addSearch(searches, {
        id: message.value("item.id"),
        type: message.value("item.type"),
        action: message.value("item.action"),
      });
      const stated = message.value(`${at}usage`);
      if (!isObject(stated)) return;
      usage = stated;
      usageText = message.text(`${at}usage`);
      toolUsage = membersOf(message.value(`${at}tool_usage`));
      imageModel = imageModelOf(message, at);
      if (message.text(`${at}output`)?.includes('"web_search_call"')) {
        const output = message.value(`${at}output`);
        if (Array.isArray(output)) for (const item of output) addSearch(searches, membersOf(item));
      }
    },
    end() {
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
      const billed = readCount(membersOf(toolUsage.web_search).num_requests);
      // The usage of hosts that count their tools themselves goes before.
      if (found.extras.web_search_requests === undefined)
        setExtra(found.extras, "web_search_requests", firstCount(billed, searches.size));
      const reason = noRecord();
      const image = imageReport(provider, toolUsage.image_gen, imageModel, responseId);
      return {
        ...found,
        ...(reason === null ? {} : { noRecord: reason }),
        ...(image === null || reason !== null ? {} : { results: [image] }),
      };
    },
  };
}

function addSearch(searches: Set<string>, item: Readonly<Record<string, unknown>>): void {
  if (item.type !== "web_search_call") return;
  const action = membersOf(item.action).type;
  if (action === undefined || action === "search")
    searches.add(typeof item.id === "string" ? item.id : String(searches.size));
}

/** The model of the image tool, as the answer repeats the request's tools; null where they name none. */
function imageModelOf(message: PickedMembers, at: string): string | null {
  if (!message.text(`${at}tools`)?.includes('"image_generation"')) return null;
  const tools = message.value(`${at}tools`);
  const tool = Array.isArray(tools)
    ? tools.find((each) => membersOf(each).type === "image_generation")
    : null;
  const { model } = membersOf(tool);
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
