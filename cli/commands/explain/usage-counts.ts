import {
  CALL_EXTRAS,
  ESTIMATE_EXTRAS,
  USAGE_EXTRAS,
  type UsageExtra,
} from "../../../core/pricing/usage-extras.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { formatCount } from "../../../core/values/text/format-count.ts";

/** A line of the counts. A part of the previous line is indented; an estimate starts with a tilde. */
export type CountLine = [name: string, value: string];

const knownExtras: Readonly<Record<string, UsageExtra | undefined>> = USAGE_EXTRAS;
/** `subscription` is a flag of records before the billing mode existed. */
const notCounts: ReadonlySet<string> = new Set([...CALL_EXTRAS, ...ESTIMATE_EXTRAS, "subscription"]);

const describeExtra = (name: string) => knownExtras[name]?.label ?? name.replaceAll("_", " ");

/** Returns the counts of a request: the disjoint counts with their separately priced parts, then the other units. */
export function countLines({ tokens, usageExtras }: RequestRecord): CountLine[] {
  const extras = Object.entries(usageExtras ?? {});
  const lines: CountLine[] = [];
  const add = (name: string, value: number | null, isEstimate = false) => {
    lines.push([name, value !== null && isEstimate ? `~${formatCount(value)}` : formatCount(value)]);
  };
  const addParts = (of: UsageExtra["partOf"]) => {
    for (const [name, value] of extras) {
      const extra = knownExtras[name];
      if (extra?.partOf === of) add(`  of it ${extra.label}`, value);
    }
  };
  const estimatedInput = usageExtras?.estimated_input === 1;
  const estimatedOutput = usageExtras?.estimated_output === 1;
  add("input, fresh", tokens.promptTokens, estimatedInput);
  addParts("promptTokens");
  add("input, cache read", tokens.cacheReadTokens);
  addParts("cacheReadTokens");
  add("input, cache write", tokens.cacheWriteTokens);
  add("  of it for one hour", tokens.cacheWrite1hTokens);
  add("output, visible", tokens.completionTokens, estimatedOutput);
  addParts("completionTokens");
  add("output, thinking", tokens.thinkingTokens, estimatedOutput);
  for (const [name, value] of extras) {
    const isBeside = (knownExtras[name]?.partOf ?? null) === null;
    if (isBeside && !notCounts.has(name)) add(describeExtra(name), value);
  }
  return lines;
}

/** Returns what changes the price but is not a count, such as fast mode or the number of model calls. */
export function priceConditions({ usageExtras }: RequestRecord): CountLine[] {
  const lines: CountLine[] = [];
  const value = (name: string) => usageExtras?.[name] ?? 0;
  for (const [name, extra] of Object.entries(USAGE_EXTRAS)) {
    if (extra.partOf === "flag" && value(name) > 0) lines.push([extra.label, "yes"]);
  }
  if (value("model_calls") > 0) {
    const parts = CALL_EXTRAS.filter((name) => name.startsWith("above_") && value(name) > 0).map(
      (name) =>
        `${formatCount(value(name))} ${name
          .replace(/^above_200k_/, "")
          .replace(/_tokens$/, "")
          .replaceAll("_", " ")}`,
    );
    const above =
      parts.length === 0
        ? "none above 200,000 input tokens"
        : `${parts.join(", ")} above 200,000 input tokens`;
    lines.push(["model calls", `${formatCount(value("model_calls"))}: ${above}`]);
  }
  return lines;
}

/** Explains the tilde of estimated counts; null if nothing was estimated. */
export function estimateNote({ usageExtras }: RequestRecord): string | null {
  return ESTIMATE_EXTRAS.some((name) => (usageExtras?.[name] ?? 0) > 0)
    ? "~ means estimated from the text, because the provider did not state the count."
    : null;
}
