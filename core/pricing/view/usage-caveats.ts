import { formatCount } from "../../values/text/format-count.ts";
import { formatInstant } from "../../wire/instant.ts";
import type { UsageAnswer, UsageDimension } from "../../wire/usage.ts";
import type { UsagePlan } from "./usage-plan.ts";
import { printUsageQuery, withFilter } from "./usage-query.ts";
import type { UsageSums } from "./usage-sums.ts";

type Caveat = UsageAnswer["caveats"][number];

/** A caveat of requests, with the value that selects them. */
interface RequestCaveat {
  readonly kind: Caveat["kind"];
  readonly count: (sums: Readonly<UsageSums>) => number | null;
  readonly filter: readonly [UsageDimension, string];
  readonly one: string;
  readonly many: string;
}

const REQUEST_CAVEATS: readonly RequestCaveat[] = [
  {
    kind: "unpriced",
    count: (sums) => sums.unpriced,
    filter: ["cost", "unpriced"],
    one: "request has no known price; its cost is not included.",
    many: "requests have no known price; their cost is not included.",
  },
  {
    kind: "incomplete",
    count: (sums) => sums.incomplete,
    filter: ["tokens", "incomplete"],
    one: "request has incomplete token counts; its cost may be higher.",
    many: "requests have incomplete token counts; their cost may be higher.",
  },
  {
    kind: "estimated",
    count: (sums) => sums.estimated,
    filter: ["cost", "estimated"],
    one: "request has an estimated cost.",
    many: "requests have an estimated cost.",
  },
  {
    kind: "unknown_billing",
    count: (sums) => sums.unknownBilling,
    filter: ["billing", "unknown"],
    one: "request was billed by usage or covered by a plan; which is unknown.",
    many: "requests were billed by usage or covered by a plan; which is unknown.",
  },
];

/** Returns what a reader of the totals must know. */
export function findCaveats(
  { query, clampedFrom, period }: UsagePlan,
  totals: Readonly<UsageSums>,
  coverage: UsageAnswer["coverage"],
): Caveat[] {
  const caveats = REQUEST_CAVEATS.flatMap(({ kind, count, filter, one, many }): Caveat[] => {
    const requests = count(totals) ?? 0;
    if (requests === 0) return [];
    const sentence = `${formatCount(requests)} ${requests === 1 ? one : many}`;
    return [{ kind, requests, sentence, query: printUsageQuery(withFilter(query, ...filter)) }];
  });
  const missed = coverage === null ? 0 : coverage.seen - coverage.metered;
  if (missed > 0) {
    const sentence = `${formatCount(missed)} ${missed === 1 ? "call was" : "calls were"} seen and not metered.`;
    caveats.push({ kind: "not_metered", requests: missed, sentence, query: null });
  }
  const unknown = coverage?.unknown_machines ?? 0;
  if (unknown > 0) {
    const sentence = `The coverage of ${formatCount(unknown)} ${unknown === 1 ? "machine" : "machines"} is unknown.`;
    caveats.push({ kind: "unknown_coverage", requests: unknown, sentence, query: null });
  }
  if (clampedFrom !== null) {
    const sentence = `Older requests are no longer kept: the period begins at ${formatInstant(period.from)}.`;
    caveats.push({ kind: "clamped", requests: 0, sentence, query: null });
  }
  return caveats;
}
