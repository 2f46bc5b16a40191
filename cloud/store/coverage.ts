import { sql, type Transaction } from "kysely";
import { HOUR_MS, type Millis } from "../../core/values/time.ts";
import type { CoverageUpload } from "../../core/wire/coverage.ts";
import { formatInstant, parseInstant } from "../../core/wire/instant.ts";
import { sumDaysOf } from "./coverage-days.ts";
import { toJson } from "./json-value.ts";
import type { AuthenticatedKey } from "./keys.ts";
import type { CloudDatabase } from "./open-database.ts";
import type { CloudSchema } from "./schema.ts";
import { inScope } from "./transaction.ts";

/** Most running times kept per machine; the oldest are deleted first. */
const MAX_RUNS = 10_000;

const instantOf = (text: string): Millis => parseInstant(text) ?? 0;

/**
 * Stores the coverage of the key's machine and returns the number of hours and running times. An hour never replaces one that was
 * counted later. Hours in the future come from a wrong clock and are left out.
 */
export async function saveCoverage(
  db: CloudDatabase,
  { workspaceId, machine }: AuthenticatedKey,
  { as_of, queued, hours, runs }: CoverageUpload,
  now: Millis,
): Promise<number> {
  if (machine === null) return 0;
  const asOf = Math.min(instantOf(as_of), now);
  const own = { workspace_id: workspaceId, machine_id: machine.id };
  // Two rows of one key in a statement are an error.
  const ownHours = [...new Map(hours.map((each) => [instantOf(each.hour), each]))].filter(
    ([hour]) => hour < now + HOUR_MS,
  );
  const ownRuns = [...new Map(runs.map(({ from, to }) => [instantOf(from), instantOf(to)]))]
    .map(([from, to]) => ({ run_from: from, run_to: Math.min(to, now) }))
    .filter(({ run_from, run_to }) => run_from <= run_to);
  await inScope(db, { workspaceId, readsThenWrites: true }, async (trx) => {
    // Two uploads of a machine, such as a repeated one, would each sum up a day without the other's hours.
    await sql`select 1 from machines where workspace_id = ${workspaceId}::uuid and machine_id = ${machine.id}::uuid for update`.execute(
      trx,
    );
    if (ownHours.length > 0) await saveHours(trx, own, ownHours, asOf);
    await sumDaysOf(
      trx,
      workspaceId,
      machine.id,
      ownHours.map(([hour]) => hour),
    );
    await saveRuns(trx, own, ownRuns);
    await sql`update machines set coverage_at = ${formatInstant(asOf)}::timestamptz, queued_requests = ${queued}::bigint
      where workspace_id = ${workspaceId}::uuid and machine_id = ${machine.id}::uuid
        and (coverage_at is null or coverage_at <= ${formatInstant(asOf)}::timestamptz)`.execute(trx);
  });
  return ownHours.length + ownRuns.length;
}

/** The key of a machine's rows. */
interface MachineKey {
  readonly workspace_id: string;
  readonly machine_id: string;
}

async function saveHours(
  trx: Transaction<CloudSchema>,
  own: MachineKey,
  hours: readonly (readonly [Millis, CoverageUpload["hours"][number]])[],
  asOf: Millis,
): Promise<void> {
  await trx
    .insertInto("coverage_hours")
    .values(
      hours.map(([hour, { metered, seen, counts }]) => ({
        ...own,
        hour,
        as_of: asOf,
        metered,
        // Never below `metered`, whatever the machine sent.
        seen: Math.max(metered, seen),
        counts: toJson(Object.fromEntries(counts.map(({ kind, count }) => [kind, count]))),
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(["workspace_id", "hour", "machine_id"])
        .doUpdateSet((eb) => ({
          as_of: eb.ref("excluded.as_of"),
          metered: eb.ref("excluded.metered"),
          seen: eb.ref("excluded.seen"),
          counts: eb.ref("excluded.counts"),
        }))
        .where("coverage_hours.as_of", "<=", (eb) => eb.ref("excluded.as_of")),
    )
    .execute();
}

/** Stores running times, and deletes the oldest if there are too many. */
async function saveRuns(
  trx: Transaction<CloudSchema>,
  { workspace_id, machine_id }: MachineKey,
  runs: readonly { readonly run_from: Millis; readonly run_to: Millis }[],
): Promise<void> {
  if (runs.length > 0)
    await trx
      .insertInto("daemon_runs")
      .values(runs.map((run) => ({ workspace_id, machine_id, ...run })))
      .onConflict((conflict) =>
        conflict
          .columns(["workspace_id", "machine_id", "run_from"])
          .doUpdateSet({ run_to: sql<Millis>`greatest(daemon_runs.run_to, excluded.run_to)` }),
      )
      .execute();
  await sql`delete from daemon_runs where workspace_id = ${workspace_id}::uuid and machine_id = ${machine_id}::uuid
    and run_from < coalesce((select run_from from daemon_runs
      where workspace_id = ${workspace_id}::uuid and machine_id = ${machine_id}::uuid
      order by run_from desc offset ${sql.lit(MAX_RUNS - 1)} limit 1), '-infinity')`.execute(trx);
}
