import type { TokenCounts } from "../../values/record.ts";
import type { Millis } from "../../values/time.ts";
import { type Members, membersOf, objectsOf, readText } from "../agent-logs/readers/members.ts";
import { readCount } from "../usage/token-counts.ts";
import { type ClientReport, hasNoUsage, type ReportingClient } from "./client-report.ts";
import { readCopilotSpan } from "./copilot-span.ts";
import {
  type Attributes,
  readAnyValue,
  readAttributeId,
  readAttributeName,
  readAttributes,
  readNanos,
  readNumber,
  readTokens,
  readUsdAttribute,
} from "./otlp-attributes.ts";
import type { OtlpSignal } from "./otlp-shapes.ts";
import { splitCounts } from "./split-counts.ts";
import { mergePoints, type UsagePoint } from "./usage-points.ts";

/** What a client's own statement of a request is called, and the attributes of its counts. */
interface RequestEvent {
  readonly client: ReportingClient;
  readonly session: string;
  readonly tokens: (attributes: Attributes) => TokenCounts;
  /** Whether an event with this name states the usage of a request. */
  readonly isUsage?: (attributes: Attributes) => boolean;
}

/** The events that state the usage of one request. All others are dropped, and with them the texts of prompts. */
const REQUEST_EVENTS: Readonly<Record<string, RequestEvent>> = {
  "claude_code.api_request": {
    client: "claude",
    session: "session.id",
    tokens: (attributes) => ({
      promptTokens: readTokens(attributes, "input_tokens"),
      cacheReadTokens: readTokens(attributes, "cache_read_tokens"),
      cacheWriteTokens: readTokens(attributes, "cache_creation_tokens"),
      cacheWrite1hTokens: null,
      completionTokens: readTokens(attributes, "output_tokens"),
      thinkingTokens: null,
    }),
  },
  "codex.sse_event": {
    client: "codex",
    session: "conversation.id",
    isUsage: (attributes) => attributes.get("event.kind") === "response.completed",
    // `tool_token_count` is not read: older versions state the total there.
    tokens: (attributes) =>
      splitCounts({
        input: readTokens(attributes, "input_token_count"),
        cacheRead: readTokens(attributes, "cached_token_count"),
        output: readTokens(attributes, "output_token_count"),
        reasoning: readTokens(attributes, "reasoning_token_count"),
      }),
  },
  "gemini_cli.api_response": {
    client: "gemini",
    session: "session.id",
    tokens: (attributes) => {
      const input = splitCounts({
        input: readTokens(attributes, "input_token_count"),
        cacheRead: readTokens(attributes, "cached_content_token_count"),
      });
      const tools = readTokens(attributes, "tool_token_count") ?? 0;
      return {
        ...input,
        promptTokens: input.promptTokens === null ? null : readCount(input.promptTokens + tools),
        completionTokens: readTokens(attributes, "output_token_count"),
        thinkingTokens: readTokens(attributes, "thoughts_token_count"),
      };
    },
  },
};

/**
 * Reads the usage that the export request of a client states: a parsed JSON payload, or a decoded protobuf one. Only the names that
 * are listed here are read, and no text of a prompt or a response. What is absent, renamed or malformed is unknown or left out.
 * Never throws. Source: docs/specification.md#reports-of-clients.
 */
export function readOtlp(signal: OtlpSignal, payload: unknown, receivedAt: Millis): ClientReport[] {
  const members = membersOf(payload);
  switch (signal) {
    case "logs":
      return readRecords(members, "resourceLogs", "scopeLogs", "logRecords", (record, resource) =>
        readLogRecord(record, resource, receivedAt),
      );
    case "traces":
      return readRecords(members, "resourceSpans", "scopeSpans", "spans", (span, resource) =>
        readSpan(span, resource, receivedAt),
      );
    case "metrics":
      return mergePoints(readRecords(members, "resourceMetrics", "scopeMetrics", "metrics", readMetric));
  }
}

function readRecords<Result>(
  payload: Members,
  resources: string,
  scopes: string,
  records: string,
  read: (record: Members, resource: Attributes) => readonly Result[],
): Result[] {
  return objectsOf(payload[resources]).flatMap((group) => {
    const resource = readAttributes(membersOf(group.resource));
    return objectsOf(group[scopes]).flatMap((scope) =>
      objectsOf(scope[records]).flatMap((record) => read(record, resource)),
    );
  });
}

/** Names an event as Claude Code's body and Codex's and Gemini CLI's `event.name` do. */
function eventOf(record: Members, attributes: Attributes, resource: Attributes): string | null {
  const stated = [record.eventName, attributes.get("event.name"), readAnyValue(record.body)];
  const name = stated.find((each) => typeof each === "string" && Object.hasOwn(REQUEST_EVENTS, each));
  if (name !== undefined) return name as string;
  const isClaude = resource.get("service.name") === "claude-code";
  return isClaude && stated.includes("api_request") ? "claude_code.api_request" : null;
}

function readLogRecord(record: Members, resource: Attributes, receivedAt: Millis): ClientReport[] {
  const attributes = readAttributes(record);
  const event = eventOf(record, attributes, resource);
  const kind = event === null ? undefined : REQUEST_EVENTS[event];
  if (event === null || kind === undefined || kind.isUsage?.(attributes) === false) return [];
  const { client } = kind;
  const nanos = [record.timeUnixNano, record.observedTimeUnixNano].find((value) => readNanos(value) !== null);
  const tokens = kind.tokens(attributes);
  const session = readAttributeId(attributes, kind.session) ?? readAttributeId(resource, kind.session);
  const model = readAttributeName(attributes, "model") ?? "unknown";
  const providerRequestId = readAttributeId(attributes, "request_id");
  const report: Omit<ClientReport, "key"> = {
    ...{ client, event, session, model, tokens, providerRequestId },
    scope: "request",
    at: readNanos(nanos) ?? receivedAt,
    startedAt: null,
    statedCostPicoUsd: readUsdAttribute(attributes, "cost_usd"),
    responseId: readAttributeId(attributes, "response_id"),
    querySource: readAttributeName(attributes, "query_source"),
  };
  if (hasNoUsage(report)) return [];
  // The number of the event tells requests with the same counts apart.
  const sequence = readNumber(attributes.get("event.sequence"));
  const own = [client, event, session, model, Object.values(tokens), providerRequestId, sequence];
  return [{ key: JSON.stringify([...own, nanos === undefined ? null : String(nanos)]), ...report }];
}

/** Reads a span of Copilot, with the attributes of OpenTelemetry's GenAI conventions. */
function readSpan(span: Members, resource: Attributes, receivedAt: Millis): ClientReport[] {
  const service = resource.get("service.name");
  if (typeof service !== "string" || !/^(?:github-)?copilot\b/.test(service)) return [];
  const at = readNanos(span.endTimeUnixNano) ?? receivedAt;
  const report = readCopilotSpan(span, readAttributes(span), at);
  return report === null ? [] : [report];
}

/** The metrics that count tokens and cost, and the kinds of tokens that their points state. */
const METRICS: Readonly<
  Record<string, { readonly client: ReportingClient; readonly unit: "tokens" | "usd" }>
> = {
  "claude_code.token.usage": { client: "claude", unit: "tokens" },
  "claude_code.cost.usage": { client: "claude", unit: "usd" },
  "gemini_cli.token.usage": { client: "gemini", unit: "tokens" },
};

/** Temporalities by number and by name, since exporters of JSON write both. */
const TEMPORALITIES: ReadonlyMap<string, UsagePoint["scope"]> = new Map([
  ["1", "interval"],
  ["2", "running_total"],
  ["AGGREGATION_TEMPORALITY_DELTA", "interval"],
  ["AGGREGATION_TEMPORALITY_CUMULATIVE", "running_total"],
]);

function readMetric(metric: Members, resource: Attributes): UsagePoint[] {
  const name = readText(metric.name);
  const kind = name !== null && Object.hasOwn(METRICS, name) ? METRICS[name] : undefined;
  const sum = membersOf(metric.sum);
  const scope = TEMPORALITIES.get(
    `${readNumber(sum.aggregationTemporality) ?? readText(sum.aggregationTemporality)}`,
  );
  if (name === null || kind === undefined || scope === undefined) return [];
  return objectsOf(sum.dataPoints).flatMap((point): UsagePoint[] => {
    const attributes = readAttributes(point);
    const at = readNanos(point.timeUnixNano);
    const value = readNumber(point.asInt) ?? readNumber(point.asDouble);
    if (at === null || value === null) return [];
    return [
      {
        ...{ client: kind.client, event: name, scope, at, value },
        type: kind.unit === "usd" ? "cost" : (readAttributeName(attributes, "type") ?? "unknown"),
        session: readAttributeId(attributes, "session.id") ?? readAttributeId(resource, "session.id"),
        startedAt: readNanos(point.startTimeUnixNano),
        model: readAttributeName(attributes, "model") ?? "unknown",
        querySource: readAttributeName(attributes, "query_source"),
      },
    ];
  });
}
