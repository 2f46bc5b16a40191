import { CALL_EXTRAS, ESTIMATE_EXTRAS, USAGE_EXTRAS, type UsageExtra } from "../../core/pricing/mod.ts";
import type { StoredRequest } from "../../daemon/store/mod.ts";
import { count } from "./count.ts";

/** A line of the counts: a part of the one before is set in, an estimate has a tilde before it. */
export type CountLine = [name: string, value: string];

const knownExtras: Readonly<Record<string, UsageExtra | undefined>> = USAGE_EXTRAS;
const notCounts: ReadonlySet<string> = new Set([...CALL_EXTRAS, ...ESTIMATE_EXTRAS]);

const inWords = (name: string) => knownExtras[name]?.label ?? name.replaceAll("_", " ");

/** What a request used: the disjoint counts, each followed by the parts that are priced apart, then what is no token. */
export function countLines({ tokens, usageExtras }: StoredRequest): CountLine[] {
  const extras = Object.entries(usageExtras ?? {});
  const lines: CountLine[] = [];
  const add = (name: string, value: number | null, isEstimate = false) => {
    lines.push([name, value !== null && isEstimate ? `~${count(value)}` : count(value)]);
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
    if (isBeside && !notCounts.has(name)) add(inWords(name), value);
  }
  return lines;
}

/** What changes the price without being a count, in words: fast mode, the calls of the model that made the answer. */
export function priceConditions({ usageExtras }: StoredRequest): CountLine[] {
  const lines: CountLine[] = [];
  const value = (name: string) => usageExtras?.[name] ?? 0;
  for (const [name, extra] of Object.entries(USAGE_EXTRAS)) {
    if (extra.partOf === "flag" && value(name) > 0) lines.push([extra.label, "yes"]);
  }
  if (value("model_calls") > 0) {
    const parts = CALL_EXTRAS.filter((name) => name.startsWith("above_") && value(name) > 0).map(
      (name) =>
        `${count(value(name))} ${name
          .replace(/^above_200k_/, "")
          .replace(/_tokens$/, "")
          .replaceAll("_", " ")}`,
    );
    const above =
      parts.length === 0
        ? "none above 200,000 input tokens"
        : `${parts.join(", ")} above 200,000 input tokens`;
    lines.push(["model calls", `${count(value("model_calls"))}: ${above}`]);
  }
  return lines;
}

/** The mark of what was estimated, explained; null where nothing was. */
export function estimateNote({ usageExtras }: StoredRequest): string | null {
  return ESTIMATE_EXTRAS.some((name) => (usageExtras?.[name] ?? 0) > 0)
    ? "~ estimated from the text, since the provider did not state it."
    : null;
}
