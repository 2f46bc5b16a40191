/**
 * `npm run bench:sync`: how long a daemon takes to send a backlog to a cloud on PostgreSQL 15, from its start until the cloud has
 * the last record, with all processes on this machine; and the latency of calls through the proxy meanwhile, compared with calls at
 * rest in the same run, and with simultaneous calls to the same provider without the meter.
 *
 * `node bench/sync/main.ts [--records 100000] [--calls 1000] [--json]`
 */
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../cli/home/database-file.ts";
import { openStore } from "../../daemon/store/open-store.ts";
import { createSyncRig } from "../../tests/chaos/sync-rig.ts";
import { missingPostgres } from "../../tests/cloud/kit/postgres-server.ts";
import { sampleRecord } from "../../tests/daemon/store/sample-records.rig.ts";
import { readStore } from "../../tests/end-to-end/meter-process.rig.ts";
import { type RawCall, rawCalls } from "../../tests/end-to-end/raw-client.rig.ts";
import { saveResult } from "../summary/results.ts";

const { values } = parseArgs({
  options: {
    records: { type: "string", default: "100000" },
    calls: { type: "string", default: "1000" },
    json: { type: "boolean", default: false },
  },
});
const [records, calls] = [Number(values.records), Number(values.calls)];

/** Target for a backlog of 100,000 records, in seconds. */
const GOAL_SECONDS = 60;

/** Target for the p99 of calls during the drain, as a multiple of their p99 at rest. */
const GOAL_RATIO = 1.5;

/** Interval between calls, in milliseconds. */
const CALL_EVERY_MS = 20;

/** Interval between checks whether the backlog is sent, in milliseconds. */
const CHECK_EVERY_MS = 500;

/** Records per transaction when inserting. */
const INSERT_SIZE = 5_000;

const missing = missingPostgres();
if (missing !== null) {
  process.stderr.write(`NOT MEASURED: ${missing}\n`);
  process.exit(1);
}

const percentile = (sorted: readonly number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
const p99 = (times: number[]) =>
  percentile(
    times.toSorted((one, other) => one - other),
    0.99,
  );
const shown = (times: number[]) => {
  const sorted = times.toSorted((one, other) => one - other);
  return `p50 ${percentile(sorted, 0.5).toFixed(1)} ms, p99 ${p99(times).toFixed(1)} ms (${times.length} calls)`;
};

const rig = await createSyncRig("bench");
// As a provider's SDK does: connections are reused, and one call in ten opens a new one.
const caller = rig.createCaller("bench");
const directCaller = rig.createDirectCaller("bench");
const timedCall = async (by = caller) => {
  // The calls are slow enough not to compete with the drain.
  await delay(CALL_EVERY_MS);
  const startedAt = performance.now();
  await by.call(rawCalls.anthropic?.("ok", true) as RawCall, "bench");
  return performance.now() - startedAt;
};
try {
  await rig.startDaemon();
  const resting: number[] = [];
  for (let n = 0; n < calls + 20; n += 1) {
    const took = await timedCall();
    // The first calls compile code and fill caches.
    if (n >= 20) resting.push(took);
  }
  await rig.stopDaemon();
  const store = await openStore(createSqliteOpener(), databaseFile(rig.home));
  let last = "";
  for (let at = 0; at < records; at += INSERT_SIZE) {
    const count = Math.min(INSERT_SIZE, records - at);
    const made = Array.from({ length: count }, () => sampleRecord({ requestedAt: Date.now() }));
    store.records.insert(made);
    last = (made.at(-1) as (typeof made)[0]).requestId;
  }
  store.close();

  const startedAt = performance.now();
  await rig.startDaemon();
  // A tick that was scheduled before the stop may be up to half a minute away.
  const poked = rig.poke();
  const [draining, direct]: [number[], number[]] = [[], []];
  let drainedMs = 0;
  let nextCheckAt = startedAt;
  while (drainedMs === 0) {
    draining.push(await timedCall());
    direct.push(await timedCall(directCaller));
    if (performance.now() < nextCheckAt) continue;
    nextCheckAt = performance.now() + CHECK_EVERY_MS;
    // The calls add records too, so the last record of the backlog counts.
    const isDone = await readStore(
      rig.home,
      (read) => read.delivery.requestsById([last])[0]?.syncedAt !== null,
    );
    if (isDone) drainedMs = performance.now() - startedAt;
  }
  await poked;
  const seconds = drainedMs / 1000;
  const ratio = p99(draining) / p99(resting);
  process.stdout.write(`backlog of ${records}: drained in ${seconds.toFixed(1)} s, ${Math.round(records / seconds)} records/s
calls at rest:      ${shown(resting)}
calls in the drain: ${shown(draining)}
without the meter:  ${shown(direct)}
p99 in the drain to p99 at rest: ${ratio.toFixed(2)} (goal: at most ${GOAL_RATIO})
`);
  saveResult("sync", [
    {
      title: `Drain of ${records} records`,
      unit: "s",
      bars: [{ name: "meter", value: seconds }],
      goals: [{ peer: null, most: (GOAL_SECONDS * records) / 100_000 }],
    },
    {
      title: "p99 of calls in the drain, against calls at rest",
      unit: "ms",
      bars: [
        { name: "in the drain", value: p99(draining) },
        { name: "at rest", value: p99(resting) },
        { name: "in the drain, without the meter", value: p99(direct) },
      ],
      goals: [{ peer: "at rest", most: GOAL_RATIO }],
    },
  ]);
  process.exitCode = seconds < (GOAL_SECONDS * records) / 100_000 && ratio <= GOAL_RATIO ? 0 : 1;
} finally {
  caller.close();
  directCaller.close();
  await rig.close();
}
