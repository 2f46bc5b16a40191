import type { CalendarDate } from "../../values/time.ts";
import type { LogAgent } from "../agent-logs/log-entry.ts";
import {
  COMPARED,
  type ComparableTokens,
  comparable,
  differenceOf,
  type Evidence,
  type JoinedCall,
  totalOf,
  WITNESSES,
  type Witness,
} from "./evidence.ts";
import { createExplainer } from "./explain-call.ts";
import { joinCalls, nameRootSessions } from "./join-calls.ts";
import { compareSums, type Difference, sumsByDay, type WitnessTotals } from "./sums.ts";

/** The comparison of one session on one day. */
export interface SessionDay {
  readonly day: CalendarDate;
  /** Null: the calls that state no session. */
  readonly session: string | null;
  readonly agent: LogAgent | null;
  /** Null: the witness saw nothing. */
  readonly totals: Readonly<Record<Witness, WitnessTotals | null>>;
  /** The calls that several witnesses saw, or should have seen. A call of a program without a log is not compared. */
  readonly calls: number;
  /** Those that each of these witnesses saw in the same way. */
  readonly agreed: number;
  /** Calls and sums that differ without a known reason. */
  readonly unexplained: number;
  readonly differences: readonly Difference[];
}

/** The comparison of a period. */
export interface WitnessComparison {
  readonly days: readonly SessionDay[];
  readonly calls: number;
  readonly agreed: number;
  /** Calls and sums that differ without a known reason. */
  readonly unexplained: number;
}

/**
 * Compares what the proxy, the agents' logs and the agents' own reports say about the same calls, by session and day. A reason is
 * given only if a fact shows it. Source: docs/specification.md#three-witnesses.
 */
export function compareWitnesses(given: Evidence): WitnessComparison {
  const evidence = { ...given, client: nameRootSessions(given) };
  const calls = joinCalls(evidence);
  const explain = createExplainer(evidence, calls);
  const groups = Map.groupBy(calls, ({ session, at }) => groupKey(session, evidence.dayOf(at)));
  const sums = sumsByDay(evidence, calls, groupKey);
  const keys = [...new Set([...groups.keys(), ...sums.keys()])];
  const days = keys
    .map((key) => {
      const [day, session] = JSON.parse(key) as [CalendarDate, string | null];
      const own = (groups.get(key) ?? []).map((call) => ({ call, found: explain(call) }));
      const listed = own.map(({ call }) => call);
      const found = sums.get(key) ?? [];
      const counted = { wire: totalsOf(listed, "wire"), log: totalsOf(listed, "log") };
      const totals = {
        wire: counted.wire,
        log: found.find(({ witness }) => witness === "log")?.totals ?? counted.log,
        client: found.find(({ witness }) => witness === "client")?.totals ?? totalsOf(listed, "client"),
      };
      const compared = own.filter((each) => each.found.length > 0 || countWitnesses(each.call) > 1);
      const differences = [...mergeDifferences(own), ...compareSums(found, counted, evidence.firstWireAt)];
      return {
        ...{ day, session, totals, differences, calls: compared.length },
        agent: listed.find((call) => call.agent !== null)?.agent ?? found[0]?.agent ?? null,
        agreed: compared.filter((each) => each.found.length === 0).length,
        unexplained: differences.reduce(
          (n, { reason, calls: some }) => n + (reason === "unknown" ? (some ?? 1) : 0),
          0,
        ),
        isCompared: compared.length > 0 || found.length > 0,
      };
    })
    .filter(({ isCompared }) => isCompared)
    .map(({ isCompared: _, ...day }): SessionDay => day)
    .sort(
      (one, other) =>
        compareTexts(other.day, one.day) || compareTexts(one.session ?? "", other.session ?? ""),
    );
  return addTotals(days);
}

/** Returns the comparison of some days, with totals over all of them. */
export function addTotals(days: readonly SessionDay[]): WitnessComparison {
  const sum = (count: (day: SessionDay) => number) => days.reduce((total, day) => total + count(day), 0);
  return {
    days,
    calls: sum(({ calls }) => calls),
    agreed: sum(({ agreed }) => agreed),
    unexplained: sum(({ unexplained }) => unexplained),
  };
}

const groupKey = (session: string | null, day: CalendarDate) => JSON.stringify([day, session]);

const compareTexts = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

const seenBy = (call: JoinedCall): Witness[] => WITNESSES.filter((witness) => call[witness] !== null);

const countWitnesses = (call: JoinedCall) => seenBy(call).length;

/** Adds up what a witness says about these calls. Null if it saw none of them. */
function totalsOf(calls: readonly JoinedCall[], witness: Witness): WitnessTotals | null {
  const seen = calls.flatMap((call) => (call[witness] === null ? [] : [call]));
  if (seen.length === 0) return null;
  const counts = seen.map((call) => comparable(call[witness]?.tokens));
  const sum = (name: keyof ComparableTokens) => {
    const known = counts.flatMap((count) => count[name] ?? []);
    return known.length === 0 ? null : known.reduce((total, count) => total + count, 0);
  };
  const costs = seen.flatMap((call) => costOf(call, witness) ?? []);
  return {
    calls: seen.length,
    ...{
      input: sum("input"),
      cacheRead: sum("cacheRead"),
      cacheWrite: sum("cacheWrite"),
      output: sum("output"),
    },
    costPicoUsd: costs.length === 0 ? null : costs.reduce((total, cost) => total + cost, 0n),
  };
}

function costOf({ wire, log, client }: JoinedCall, witness: Witness): bigint | null {
  if (witness === "wire") return wire?.costPicoUsd ?? null;
  return (witness === "log" ? log?.costPicoUsd : client?.statedCostPicoUsd) ?? null;
}

function mergeDifferences(
  own: readonly {
    readonly call: JoinedCall;
    readonly found: readonly Omit<Difference, "seenBy" | "calls" | "tokens" | "costPicoUsd">[];
  }[],
): Difference[] {
  const merged = new Map<string, Difference>();
  for (const { call, found } of own)
    for (const { witness, kind, reason } of found) {
      const seen = seenBy(call);
      const key = JSON.stringify([witness, kind, reason, seen]);
      const before = merged.get(key);
      const cost = costOf(call, "wire") ?? costOf(call, "log") ?? costOf(call, "client");
      merged.set(key, {
        ...{ witness, kind, reason, seenBy: seen },
        calls: (before?.calls ?? 0) + 1,
        tokens: addKnown(before?.tokens ?? null, affectedTokens(call, witness, kind)),
        costPicoUsd: addKnownCosts(before?.costPicoUsd ?? null, cost),
      });
    }
  return [...merged.values()];
}

const addKnown = (one: number | null, other: number | null) =>
  one === null || other === null ? (one ?? other) : one + other;

const addKnownCosts = (one: bigint | null, other: bigint | null) =>
  one === null || other === null ? (one ?? other) : one + other;

/** The tokens of a call that a witness missed, or by which its counts differ from those of the others. */
function affectedTokens(call: JoinedCall, witness: Witness, kind: Difference["kind"]): number | null {
  const base = comparable((call.wire ?? call.log ?? call.client)?.tokens);
  if (kind === "missing") return COMPARED.every((name) => base[name] === null) ? null : totalOf(base);
  const others = witness === "wire" ? [call.log, call.client] : [call[witness]];
  return Math.max(...others.map((other) => differenceOf(base, comparable(other?.tokens))));
}
