import { parseDecimalToPico } from "../../pricing/decimal.ts";
import { MAX_COST_PICO_USD } from "../../pricing/money.ts";
import { DAY_MS } from "../../values/time.ts";
import { readCount, splitTotal } from "../usage/token-counts.ts";
import type { ClientReport, ReportScope } from "./client-report.ts";

/** A point of a metric: one kind of tokens, or the cost, of an interval or since the counter began. */
export interface UsagePoint
  extends Pick<ClientReport, "client" | "event" | "session" | "at" | "startedAt" | "model" | "querySource"> {
  readonly scope: Exclude<ReportScope, "request">;
  /** What is counted, as the client names it. */
  readonly type: string;
  readonly value: number;
}

/**
 * Merges the points of one session, model and time into one report. A running total has one report per day (UTC), which the next
 * export replaces, so that a client that exports every minute does not fill the table.
 */
export function mergePoints(points: readonly UsagePoint[]): ClientReport[] {
  const groups = Map.groupBy(points, ({ client, session, model, querySource, scope, at, startedAt }) => {
    const time = scope === "interval" ? at : `day ${Math.floor(at / DAY_MS)}`;
    return JSON.stringify([client, scope, session, model, querySource, startedAt, time]);
  });
  return [...groups].flatMap(([key, group]) => {
    const report = toReport(key, group);
    return report === null ? [] : [report];
  });
}

function toReport(key: string, group: readonly UsagePoint[]): ClientReport | null {
  const [first] = group as [UsagePoint, ...UsagePoint[]];
  const { client, scope, event, session, startedAt, model, querySource } = first;
  const read = (...types: readonly string[]) => sumOf(group, types);
  const isGemini = client === "gemini";
  const cacheReadTokens = read("cacheRead", "cache");
  const input = read("input");
  const inputs = splitTotal(input, [isGemini ? cacheReadTokens : null]);
  const prompt = inputs.consistent ? inputs.rest : null;
  const cost = read("cost");
  const pico = cost === null ? null : parseDecimalToPico(String(cost));
  const tokens = {
    promptTokens: prompt === null ? null : readCount(prompt + (isGemini ? (read("tool") ?? 0) : 0)),
    cacheReadTokens: readCount(cacheReadTokens),
    cacheWriteTokens: readCount(read("cacheCreation")),
    cacheWrite1hTokens: null,
    completionTokens: readCount(read("output")),
    thinkingTokens: readCount(read("thought")),
  };
  const statedCostPicoUsd = pico === null || pico < 0n || pico > MAX_COST_PICO_USD ? null : pico;
  if (statedCostPicoUsd === null && Object.values(tokens).every((count) => count === null)) return null;
  return {
    ...{ key: `${event} ${key}`, client, scope, event, session, startedAt, model, tokens, querySource },
    at: group.reduce((latest, { at }) => Math.max(latest, at), first.at),
    statedCostPicoUsd,
    providerRequestId: null,
    responseId: null,
  };
}

/** Adds up the points of these types; of a running total the latest ones, since each series has a point in every export. */
function sumOf(group: readonly UsagePoint[], types: readonly string[]): number | null {
  const points = group.filter(({ type }) => types.includes(type));
  const latest = points.reduce((found, { at }) => Math.max(found, at), 0);
  const counted = points.filter(({ scope, at }) => scope === "interval" || at === latest);
  return counted.length === 0 ? null : counted.reduce((sum, { value }) => sum + value, 0);
}
