import { type CalendarDate, DAY_MS, type Millis } from "../../values/time.ts";
import type { LogAgent } from "../agent-logs/log-entry.ts";
import type { ClientReport } from "../client-reports/client-report.ts";
import {
  agree,
  type ComparableTokens,
  comparable,
  type DifferenceReason,
  differenceOf,
  type Evidence,
  type JoinedCall,
  totalOf,
  type Witness,
} from "./evidence.ts";

/** What one witness saw of a session on one day. */
export interface WitnessTotals extends ComparableTokens {
  /** Null if the witness states only sums. */
  readonly calls: number | null;
  readonly costPicoUsd: bigint | null;
}

/** Differences of one kind and reason. */
export interface Difference {
  /** The witness that did not see the calls, or saw other counts. */
  readonly witness: Witness;
  readonly kind: "missing" | "differs";
  readonly reason: DifferenceReason;
  /** Who saw the calls. */
  readonly seenBy: readonly Witness[];
  /** Null if a sum differs. */
  readonly calls: number | null;
  /** The tokens of the missing calls, or those by which the counts differ. Null: unknown. */
  readonly tokens: number | null;
  /** Null: unknown. */
  readonly costPicoUsd: bigint | null;
}

/** The sum of several calls that a witness states for a session and day. */
export interface DaySum {
  readonly witness: Exclude<Witness, "wire">;
  readonly agent: LogAgent;
  /** The end of the last part. */
  readonly at: Millis;
  readonly totals: WitnessTotals;
  /** Whether it can't be divided by days: it covers a whole session, or its counter began before this day. */
  readonly isCumulative: boolean;
}

/**
 * Returns the sums by session and day: of logs that state turns or sessions, and of metrics. The metrics of a session that also
 * reports requests are left out, since they state the same calls.
 */
export function sumsByDay(
  { log, client, dayOf }: Pick<Evidence, "log" | "client" | "dayOf">,
  calls: readonly JoinedCall[],
  keyOf: (session: string | null, day: CalendarDate) => string,
): Map<string, DaySum[]> {
  const detailed = new Set(calls.flatMap((call) => (call.client === null ? [] : [call.client.session])));
  const sums = new Map<string, DaySum[]>();
  const add = (key: string, sum: DaySum) => {
    const before = sums.get(key) ?? [];
    const same = before.find(({ witness }) => witness === sum.witness);
    const merged = same === undefined ? sum : mergeSums(same, sum);
    sums.set(key, [...before.filter((each) => each !== same), merged]);
  };
  for (const { scope, session, at, tokens, costPicoUsd, agent } of log)
    if (scope !== "call")
      add(keyOf(session, dayOf(at)), {
        ...{ witness: "log", agent, at, isCumulative: scope === "session" },
        totals: { calls: null, ...comparable(tokens), costPicoUsd },
      });
  const counted = client.filter(({ scope, session }) => scope !== "request" && !detailed.has(session));
  for (const { report, tokens, costPicoUsd, isCumulative } of toIncrements(counted))
    add(keyOf(report.session, dayOf(report.at)), {
      ...{ witness: "client", agent: report.client, at: report.at, isCumulative },
      totals: { calls: null, ...tokens, costPicoUsd },
    });
  return sums;
}

interface Increment {
  readonly report: ClientReport;
  readonly tokens: ComparableTokens;
  readonly costPicoUsd: bigint | null;
  readonly isCumulative: boolean;
}

/** Subtracts from each running total the one before it. The first one counts whole if its counter began on the same day. */
function toIncrements(reports: readonly ClientReport[]): Increment[] {
  const series = Map.groupBy(reports, ({ scope, session, model, querySource, startedAt, key }) =>
    scope === "interval" ? key : JSON.stringify([session, model, querySource, startedAt]),
  );
  return [...series.values()].flatMap((group) => {
    const sorted = [...group].sort((one, other) => one.at - other.at);
    return sorted.map((report, index): Increment => {
      const before = sorted[index - 1];
      const [now, then] = [comparable(report.tokens), comparable(before?.tokens)];
      const { statedCostPicoUsd: cost, startedAt, at, scope } = report;
      const spent = cost === null ? null : cost - (before?.statedCostPicoUsd ?? 0n);
      const isFromBefore = startedAt === null || Math.floor(startedAt / DAY_MS) !== Math.floor(at / DAY_MS);
      return {
        report,
        tokens: mapTokens((name) => (now[name] === null ? null : Math.max(0, now[name] - (then[name] ?? 0)))),
        costPicoUsd: spent !== null && spent < 0n ? 0n : spent,
        isCumulative: scope === "running_total" && before === undefined && isFromBefore,
      };
    });
  });
}

const mapTokens = (read: (name: keyof ComparableTokens) => number | null): ComparableTokens => ({
  input: read("input"),
  cacheRead: read("cacheRead"),
  cacheWrite: read("cacheWrite"),
  output: read("output"),
});

function mergeSums(one: DaySum, other: DaySum): DaySum {
  const [first, second] = [one.totals, other.totals];
  const costs = [first.costPicoUsd, second.costPicoUsd].filter((cost) => cost !== null);
  return {
    ...one,
    at: Math.max(one.at, other.at),
    isCumulative: one.isCumulative || other.isCumulative,
    totals: {
      calls: null,
      ...mapTokens((name) =>
        first[name] === null && second[name] === null ? null : (first[name] ?? 0) + (second[name] ?? 0),
      ),
      costPicoUsd: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0n),
    },
  };
}

/** Compares sums with the calls that the proxy saw, or with those of the log if none of them passed through the proxy. */
export function compareSums(
  sums: readonly DaySum[],
  { wire, log }: Readonly<Record<"wire" | "log", WitnessTotals | null>>,
  firstWireAt: Millis | null,
): Difference[] {
  const base = wire ?? log;
  return sums.flatMap(({ witness, totals, isCumulative, at }): Difference[] => {
    const common = { calls: null, costPicoUsd: totals.costPicoUsd };
    if (base === null) {
      const reason = firstWireAt === null || at < firstWireAt ? "before_install" : "unknown";
      const tokens = totalOf(totals);
      return [{ ...common, witness: "wire", kind: "missing", reason, seenBy: [witness], tokens }];
    }
    if (agree(base, totals)) return [];
    const tokens = differenceOf(base, totals);
    const reason = isCumulative ? "cumulative_counter" : "unknown";
    const seenBy: Witness[] = [wire === null ? "log" : "wire", witness];
    return [{ ...common, witness, kind: "differs", reason, seenBy, tokens }];
  });
}
