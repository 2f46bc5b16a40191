import type { SqliteConnection } from "../../core/ports/sqlite.ts";
import type { Millis } from "../../core/values/time.ts";
import type { Period } from "./port/values.ts";
import { lastInstant } from "./request-rows.ts";
import { SLOT_MS } from "./rollup-definition.ts";
import { inUsageSnapshot, partsOf, type UsagePart, type UsageSnapshot } from "./usage-parts.ts";
import { findDays, findSlots, type Selection, type Span } from "./usage-sums.ts";

/**
 * Yields the times of a period that contain every request of a selection, the latest first. The rollups tell them; without rollups,
 * it is the whole period. The selection has conditions on columns of series only.
 */
export function* findTimes(
  connection: SqliteConnection,
  period: Span,
  selection: Selection,
): Generator<Span> {
  const parts = inUsageSnapshot(connection, (usage) => splitTimes(usage, period, selection));
  for (const { kind, ...span } of parts) {
    if (kind === "requests") yield span;
    else yield* joinSlots(findSlots(connection, span, selection), span);
  }
}

/** Splits a period into whole days and other slots in which the selection can have requests, and times that no rollup covers. */
function splitTimes(usage: UsageSnapshot, period: Span, selection: Selection): readonly UsagePart[] {
  const { connection, latest } = usage;
  if (latest === null) return [{ ...period, kind: "requests" }];
  const clip = ({ from, to }: Span) => ({
    from: Math.max(from, period.from),
    to: Math.min(to, period.to),
  });
  const covered = (span: Span): UsagePart[] =>
    partsOf(usage, span)
      .toReversed()
      .flatMap((part): UsagePart[] =>
        part.kind === "days"
          ? findDays(connection, part, selection).map((day) => ({ ...day, kind: "slots" }))
          : [part],
      )
      .map((part) => ({ ...part, ...clip(part) }));
  return [
    ...covered(clip({ from: latest.to, to: period.to })),
    { ...clip(latest), kind: "requests" as const },
    ...covered(clip({ from: period.from, to: latest.from })),
  ].filter(({ from, to }) => from < to);
}

/** Joins slots, the latest first, that are next to each other. */
function* joinSlots(slots: readonly Millis[], { from, to }: Span): Generator<Span> {
  let joined: Span | null = null;
  const clip = (span: Span): Span => ({ from: Math.max(span.from, from), to: Math.min(span.to, to) });
  for (const slot of slots) {
    if (joined?.from === slot + SLOT_MS) joined = { from: slot, to: joined.to };
    else {
      if (joined !== null) yield clip(joined);
      joined = { from: slot, to: slot + SLOT_MS };
    }
  }
  if (joined !== null) yield clip(joined);
}

/** Cuts a time into slices of a number of requests, the latest first. Requests of one millisecond are in one slice. */
export function* cutTimes(
  connection: SqliteConnection,
  { from, to }: Span,
  rowsOfNext: () => number,
): Generator<Span> {
  const nth = connection.prepare<{ at: Millis }>(
    `SELECT requested_at AS at FROM requests WHERE requested_at >= ? AND requested_at < ?
     ORDER BY requested_at DESC LIMIT 1 OFFSET ?`,
  );
  for (let end = to; ; ) {
    const at = nth.get([from, end, rowsOfNext() - 1])?.at ?? null;
    yield { from: at ?? from, to: end };
    if (at === null) return;
    end = at;
  }
}

/** The whole of a period, whose bounds may be open. */
export const spanOf = ({ from, to }: Period): Span => ({
  from: from ?? 0,
  to: to ?? lastInstant + 1,
});
