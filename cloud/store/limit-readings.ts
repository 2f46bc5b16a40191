import { sql } from "kysely";
import type { Millis } from "../../core/values/time.ts";
import { formatInstant, formatInstantOrNull, parseInstant } from "../../core/wire/instant.ts";
import type { LimitsResponse, WireLimitReading } from "../../core/wire/limit-readings.ts";
import type { AuthenticatedKey } from "./keys.ts";
import type { CloudDatabase } from "./open-database.ts";
import { inScope } from "./transaction.ts";

/**
 * How long a window is kept after it was last seen, milliseconds. Decision: longer than the longest window, a month.
 */
const KEPT_MS = 35 * 86_400_000;

/** Most windows kept per machine; the oldest are deleted first. */
const MAX_PER_MACHINE = 500;

/** A time in the future comes from a wrong clock, so the reading counts as seen now. */
const seenAt = (text: string, now: Millis): Millis => Math.min(parseInstant(text) ?? now, now);

/** Stores the readings of the key's machine. An older reading of a window never replaces a newer one. */
export async function saveLimitReadings(
  db: CloudDatabase,
  { workspaceId, machine, userId }: AuthenticatedKey,
  readings: readonly WireLimitReading[],
  now: Millis,
): Promise<number> {
  if (machine === null) return 0;
  // Two readings of one window in a statement are an error.
  const latest = new Map(
    readings
      .toSorted((one, other) => seenAt(one.seen_at, now) - seenAt(other.seen_at, now))
      .map((each) => [
        JSON.stringify([each.provider, each.account ?? "", each.window, each.scope ?? "", each.unit]),
        each,
      ]),
  );
  const rows = [...latest.values()].map((each) => ({
    workspace_id: workspaceId,
    machine_id: machine.id,
    user_id: userId,
    provider: each.provider,
    account: each.account ?? "",
    window_name: each.window,
    scope: each.scope ?? "",
    unit: each.unit,
    window_ms: each.window_ms,
    used_ppm: each.used_ppm,
    limit_amount: each.limit,
    remaining_amount: each.remaining,
    reset_at: each.reset_at === null ? null : parseInstant(each.reset_at),
    status: each.status,
    seen_at: seenAt(each.seen_at, now),
  }));
  await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    // Simultaneous uploads of a machine wait for each other, so that each counts the windows of the others.
    await sql`select 1 from machines where workspace_id = ${workspaceId}::uuid and machine_id = ${machine.id}::uuid for update`.execute(
      trx,
    );
    await trx
      .insertInto("limit_readings")
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(["workspace_id", "machine_id", "provider", "account", "window_name", "scope", "unit"])
          .doUpdateSet((eb) => ({
            user_id: eb.ref("excluded.user_id"),
            window_ms: eb.ref("excluded.window_ms"),
            used_ppm: eb.ref("excluded.used_ppm"),
            limit_amount: eb.ref("excluded.limit_amount"),
            remaining_amount: eb.ref("excluded.remaining_amount"),
            reset_at: eb.ref("excluded.reset_at"),
            status: eb.ref("excluded.status"),
            seen_at: eb.ref("excluded.seen_at"),
          }))
          .where((eb) =>
            eb.or([
              eb("limit_readings.seen_at", "<=", eb.ref("excluded.seen_at")),
              // Our own clock was set back.
              eb("limit_readings.seen_at", ">", now),
            ]),
          ),
      )
      .execute();
    // Not by time alone: any number of windows may have been seen at the same time.
    await sql`delete from limit_readings where workspace_id = ${workspaceId}::uuid and machine_id = ${machine.id}::uuid
      and (seen_at < ${now - KEPT_MS}::timestamptz or ctid = any (array(select ctid from limit_readings
        where workspace_id = ${workspaceId}::uuid and machine_id = ${machine.id}::uuid
        order by seen_at desc, provider, account, window_name, scope, unit offset ${sql.lit(MAX_PER_MACHINE)})))`.execute(
      trx,
    );
  });
  return rows.length;
}

/** Reads the windows of a workspace that were seen since an instant, the last seen first. */
export async function readLimitReadings(
  db: CloudDatabase,
  workspaceId: string,
  since: Millis,
): Promise<LimitsResponse["limits"]> {
  const rows = await inScope(db, { workspaceId }, (trx) =>
    trx
      .selectFrom("limit_readings as l")
      .innerJoin("machines as m", (join) =>
        join.onRef("m.machine_id", "=", "l.machine_id").onRef("m.workspace_id", "=", "l.workspace_id"),
      )
      .selectAll("l")
      .select(sql<string>`coalesce(m.label, m.hostname)`.as("machine_name"))
      .where("l.workspace_id", "=", workspaceId)
      .where("l.seen_at", ">=", since)
      .orderBy("l.seen_at", "desc")
      .orderBy("l.machine_id")
      .orderBy("l.provider")
      .orderBy("l.account")
      .orderBy("l.window_name")
      .limit(MAX_PER_MACHINE * 20)
      .execute(),
  );
  const numberOf = (value: string | null) => (value === null ? null : Number(value));
  return rows.map((row) => ({
    machine_id: row.machine_id,
    machine_name: row.machine_name,
    user_id: row.user_id,
    provider: row.provider,
    account: row.account === "" ? null : row.account,
    window: row.window_name,
    scope: row.scope === "" ? null : row.scope,
    unit: row.unit,
    window_ms: numberOf(row.window_ms),
    used_ppm: numberOf(row.used_ppm),
    limit: numberOf(row.limit_amount),
    remaining: numberOf(row.remaining_amount),
    reset_at: formatInstantOrNull(row.reset_at),
    status: row.status,
    seen_at: formatInstant(row.seen_at),
  }));
}
