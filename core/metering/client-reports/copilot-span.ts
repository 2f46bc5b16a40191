import type { Millis } from "../../values/time.ts";
import { type Members, membersOf, readText, readTime } from "../agent-logs/readers/members.ts";
import { type ClientReport, hasNoUsage } from "./client-report.ts";
import {
  type Attributes,
  readAttributeId,
  readAttributeName,
  readAttributes,
  readNanos,
  readTokens,
} from "./otlp-attributes.ts";
import { splitCounts } from "./split-counts.ts";

/** Operations of spans that are one request to a model. `invoke_agent` contains others and is left out. */
const OPERATIONS: ReadonlySet<unknown> = new Set(["chat", "generate_content", "text_completion"]);

/** Reads the request that a span of Copilot states; null if it states none. */
export function readCopilotSpan(span: Members, attributes: Attributes, at: Millis): ClientReport | null {
  if (!OPERATIONS.has(attributes.get("gen_ai.operation.name"))) return null;
  const ids = [readText(span.traceId)?.slice(0, 64) ?? null, readText(span.spanId)?.slice(0, 64) ?? null];
  const responseId = readAttributeId(attributes, "gen_ai.response.id");
  const report: ClientReport = {
    ...{ key: JSON.stringify(["copilot", ...ids, responseId]), client: "copilot", scope: "request" },
    ...{ event: "chat", at, startedAt: null, responseId },
    session: readAttributeId(attributes, "gen_ai.conversation.id"),
    model:
      readAttributeName(attributes, "gen_ai.response.model") ??
      readAttributeName(attributes, "gen_ai.request.model") ??
      "unknown",
    tokens: splitCounts({
      input: readTokens(attributes, "gen_ai.usage.input_tokens"),
      cacheRead: readTokens(attributes, "gen_ai.usage.cache_read.input_tokens"),
      cacheWrite: readTokens(attributes, "gen_ai.usage.cache_creation.input_tokens"),
      output: readTokens(attributes, "gen_ai.usage.output_tokens"),
      reasoning: readTokens(attributes, "gen_ai.usage.reasoning.output_tokens"),
    }),
    ...{ statedCostPicoUsd: null, providerRequestId: null, querySource: null },
  };
  return hasNoUsage(report) ? null : report;
}

/**
 * Reads the request that a line of a file states which Copilot CLI writes instead of exporting: a span, whose attributes are members of
 * an object. Null: the line states no request, or no time of it, which could only be guessed. Never throws.
 */
export function readCopilotLine(line: unknown): ClientReport | null {
  const span = membersOf(line);
  const at = readEnd(span);
  if (span.type !== "span" || at === null) return null;
  return readCopilotSpan({ ...membersOf(span.spanContext), ...span }, readPlainAttributes(span), at);
}

function readPlainAttributes(span: Members): Attributes {
  if (Array.isArray(span.attributes)) return readAttributes(span);
  return new Map(
    Object.entries(membersOf(span.attributes)).filter((entry): entry is [string, string | number | boolean] =>
      ["string", "number", "boolean"].includes(typeof entry[1]),
    ),
  );
}

/** Reads the end of a span: seconds and nanoseconds, nanoseconds, or a time as text or number. */
function readEnd({ endTime, endTimeUnixNano }: Members): Millis | null {
  if (!Array.isArray(endTime)) return readNanos(endTimeUnixNano) ?? readTime(endTime);
  const [seconds, nanos] = endTime as readonly unknown[];
  return typeof seconds === "number" && typeof nanos === "number"
    ? readTime(seconds * 1000 + nanos / 1e6)
    : null;
}
