import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import fc from "fast-check";
import { sql } from "kysely";
import {
  findStopped,
  readCoverage,
  sumCoverageBuckets,
  sumMachines,
} from "../../../cloud/store/reads/coverage.ts";
import { readFleetCoverage, readLastStops, readStops } from "../../../cloud/store/reads/fleet-coverage.ts";
import { inReadScope } from "../../../cloud/store/reads/read-scope.ts";
import { resumeTasks } from "../../../cloud/store/resume-tasks.ts";
import { addTask } from "../../../cloud/store/tasks.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import { findSharedStoppedTimes, findStoppedTimes } from "../../../core/metering/coverage/running-times.ts";
import { DAY_MS, HOUR_MS } from "../../../core/values/time.ts";
import { propertyRuns } from "../../core/property-runs.rig.ts";
import { type CloudRig, createRig, json, START, UNLIMITED } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const HOURS = 5 * 24;
const at = (hour: number) => new Date(Math.round(START - hour * HOUR_MS)).toISOString();
const hoursAgo = fc.integer({ min: 0, max: HOURS });
const count = fc.integer({ min: 0, max: 9 });

/** Near a whole hour, so that many runs begin and end within minutes. */
const timeAgo = fc
  .tuple(hoursAgo, fc.integer({ min: 0, max: 10 }))
  .map(([hours, steps]) => hours + steps / 120);

/** What a machine states at once. */
const upload = fc.record({
  machine: fc.integer({ min: 0, max: 1 }),
  /** Reports that are older than the stored ones change nothing. */
  asOf: fc.integer({ min: 0, max: 3 }),
  hours: fc.uniqueArray(fc.record({ hour: hoursAgo, metered: count, missed: count, incomplete: count }), {
    selector: ({ hour }) => hour,
    maxLength: 6,
  }),
  runs: fc.array(fc.tuple(timeAgo, timeAgo), { maxLength: 6 }),
});

describeOnOneEngine("the sums of coverage by day", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: UNLIMITED });
  });
  after(() => rig.close());

  async function open() {
    const workspace = await rig.addWorkspace({ plan: "business" });
    const machineId = await rig.addMachine(workspace);
    const other = await rig.addKey(workspace, { machineId });
    const tokens = [workspace.token, other];
    const send = async ({
      machine,
      asOf,
      hours,
      runs,
    }: typeof upload extends fc.Arbitrary<infer U> ? U : never) => {
      const body = {
        ...{ daemon_version: "1", as_of: at(asOf), queued: 0 },
        hours: hours.map(({ hour, metered, missed, incomplete }) => ({
          ...{ hour: at(hour), metered, seen: metered + missed },
          counts: [
            { kind: "unknown_path", count: missed },
            { kind: "without_usage", count: incomplete },
          ].filter((each) => each.count > 0),
        })),
        runs: runs.map(([one, end]) => ({ from: at(Math.max(one, end)), to: at(Math.min(one, end)) })),
      };
      const answer = await rig.call("POST", "/v1/daemon/coverage", `${tokens[machine]}`, body);
      assert.equal(answer.status, 200, JSON.stringify(await json(answer)));
    };
    return { workspace, send };
  }

  /** All stored runs of a workspace by machine. */
  async function readRuns(workspaceId: string) {
    const { rows } = await sql<{ machine_id: string; from: number; to: number }>`
      select machine_id, run_from as "from", run_to as "to" from daemon_runs where workspace_id = ${workspaceId}::uuid`.execute(
      rig.db,
    );
    return Map.groupBy(rows, ({ machine_id }) => machine_id);
  }

  /** The coverage of a workspace from all its hours. */
  async function readHours(workspaceId: string, from: number, to: number) {
    const { rows } = await sql<{
      machine_id: string;
      hour: number;
      metered: string;
      seen: string;
      counts: Record<string, number>;
    }>`
      select machine_id, hour, metered, seen, counts from coverage_hours where workspace_id = ${workspaceId}::uuid`.execute(
      rig.db,
    );
    return rows.filter(({ hour }) => hour >= from && hour < to);
  }

  it("give the coverage of all hours, whenever they were stated, of machines and of days", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(upload, { minLength: 1, maxLength: 5 }),
        hoursAgo,
        hoursAgo,
        async (uploads, one, end) => {
          const { workspace, send } = await open();
          for (const each of uploads) await send(each);
          const from = START - Math.max(one, end) * HOUR_MS - 1;
          const to = START - Math.min(one, end) * HOUR_MS + 1;
          const hours = await readHours(workspace.id, from, to);
          const machines = await readCoverage(rig.db, workspace.id, { from, to });
          for (const { machineId, metered, seen, counts } of machines) {
            const own = hours.filter((each) => each.machine_id === machineId);
            const sum = (field: "metered" | "seen") =>
              own.reduce((all, each) => all + Number(each[field]), 0);
            assert.deepEqual([metered, seen], [sum("metered"), sum("seen")]);
            const kinds = ["unknown_path", "without_usage"].flatMap((kind) => {
              const stated = own.filter((each) => kind in each.counts);
              if (stated.length === 0) return [];
              return [
                {
                  kind,
                  count: stated.reduce((all, each) => all + (each.counts[kind] ?? 0), 0),
                  lastSeenAt: Math.max(...stated.map(({ hour }) => hour)),
                },
              ];
            });
            assert.deepEqual(counts, kinds);
          }
          const missed = machines
            .flatMap(({ counts }) => counts)
            .filter(({ kind, count }) => kind === "unknown_path" && count > 0)
            .reduce((sum, { count }) => sum + count, 0);
          assert.deepEqual(
            await inReadScope(rig.db, { workspaceId: workspace.id }, (trx) =>
              readFleetCoverage(trx, workspace.id, { from, to }, { withMissing: true, withStopped: true }),
            ),
            {
              ...sumMachines(machines),
              missing: missed === 0 ? [] : [{ kind: "unknown_path", count: missed }],
              stopped: findStopped(machines, { from, to }),
            },
          );
          const scope = { workspaceId: workspace.id };
          const stops = machines.flatMap(({ machineId, name, stopped }) =>
            stopped.map((gap) => ({ machineId, machine: name, ...gap })),
          );
          const read = await inReadScope(rig.db, scope, (trx) =>
            readStops(trx, workspace.id, { from, to }, 3),
          );
          assert.deepEqual(read, {
            times: stops.length,
            totalMs: stops.reduce((sum, each) => sum + each.to - each.from, 0),
            // Their order, in case of equal times, is that of the names.
            latest: stops.toSorted((a, b) => b.from - a.from || (a.machine < b.machine ? -1 : 1)).slice(0, 3),
            shared: machines.every(({ runs }) => runs.length === 0)
              ? null
              : findSharedStoppedTimes(
                  machines.map(({ runs }) => runs),
                  { from, to },
                ),
          });
          // The runs that are read tell the same as all that are stored.
          const runs = await readRuns(workspace.id);
          for (const { machineId, stopped } of machines)
            assert.deepEqual(stopped, findStoppedTimes(runs.get(machineId) ?? [], { from, to }));
          const last = await inReadScope(rig.db, scope, (trx) =>
            readLastStops(
              trx,
              workspace.id,
              { from, to },
              machines.map(({ machineId }) => machineId),
            ),
          );
          assert.deepEqual(
            [...last].sort(),
            machines
              .flatMap(({ machineId, stopped }) => stopped.slice(-1).map((gap) => [machineId, gap] as const))
              .sort(),
          );
          // UTC days, days of zones behind and ahead of UTC, and hours that begin within a bucket.
          for (const offset of [0, 2, 22, 19, 0.25]) {
            const days = [
              from,
              ...[4, 3, 2, 1]
                .map((day) => (Math.floor(to / DAY_MS) - day) * DAY_MS + offset * HOUR_MS)
                .filter((day) => day > from),
            ];
            const buckets = days.map((day, index) => ({ from: day, to: days[index + 1] ?? to }));
            const total = (span: { from: number; to: number }, field: "metered" | "seen") =>
              hours
                .filter(({ hour }) => hour >= span.from && hour < span.to)
                .reduce((all, each) => all + Number(each[field]), 0);
            assert.deepEqual(
              await sumCoverageBuckets(rig.db, workspace.id, buckets),
              buckets.map((each) => ({ metered: total(each, "metered"), seen: total(each, "seen") })),
              `${offset} h`,
            );
          }
        },
      ),
      { numRuns: propertyRuns(engine.name === "pglite" ? 6 : 10) },
    );
  });

  it("are rebuilt a day after the update, for the days that a process of the previous version stored", async () => {
    const { workspace, send } = await open();
    const hour = { metered: 5, missed: 2, incomplete: 1 };
    await send({
      machine: 0,
      asOf: 0,
      hours: [
        { hour: 30, ...hour },
        { hour: 60, ...hour },
      ],
      runs: [],
    });
    const span = { from: START - 5 * 24 * HOUR_MS, to: START };
    const read = async () =>
      (await readCoverage(rig.db, workspace.id, span)).reduce((sum, { seen }) => sum + seen, 0);
    assert.equal(await read(), 14);
    await sql`delete from coverage_days where workspace_id = ${workspace.id}::uuid`.execute(rig.db);
    rig.clock.advance(24 * HOUR_MS);
    await inScope(rig.db, {}, (trx) => addTask(trx, "sum_coverage", workspace.id, {}, rig.clock.now()));
    await resumeTasks(rig.db, rig.clock.now());
    assert.equal(await read(), 14);
    const left = rig.db.selectFrom("tasks").select("kind").where("task_id", "=", workspace.id).execute();
    assert.deepEqual(await left, []);
  });
});
