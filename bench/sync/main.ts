/**
 * `npm run bench:sync`: how long a daemon takes to drain a backlog into a cloud on PostgreSQL 15, all of them processes of
 * their own on this machine, from the daemon's start until the cloud has the last record; and what a call through the
 * proxy takes meanwhile, beside what it takes at rest in the same run.
 *
 * `node bench/sync/main.ts [--records 100000] [--calls 1000]`
 */
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createSqliteOpener } from "../../adapters/sqlite/mod.ts";
import { databaseFile } from "../../cli/database-file.ts";
import { openStore } from "../../daemon/store/mod.ts";
import { createSyncRig } from "../../tests/chaos/sync-rig.ts";
import { missingPostgres } from "../../tests/cloud/kit/postgres-server.ts";
import { sampleRecord } from "../../tests/daemon/store/sample-records.ts";
import { readStore } from "../../tests/end-to-end/meter-process.ts";
import { type RawCall, rawCalls } from "../../tests/end-to-end/raw-client.ts";

const { values } = parseArgs({
  options: { records: { type: "string", default: "100000" }, calls: { type: "string", default: "1000" } },
});
const [records, calls] = [Number(values.records), Number(values.calls)];

/** The goal for a backlog of 100,000, seconds. */
const GOAL_SECONDS = 60;

/** The goal for a call's p99 in the drain, as a multiple of its p99 at rest. */
const GOAL_RATIO = 1.5;

/** Between two calls, milliseconds. */
const CALL_EVERY_MS = 20;

/** Between two looks whether the backlog is drained, milliseconds. */
const LOOK_EVERY_MS = 500;

/** Records inserted in one transaction. */
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
// As a provider's library does it: a connection is kept, and now and then there is a new one (1 call in 10 here).
const caller = rig.createCaller("bench");
const timedCall = async () => {
  // A person's pace: the calls are there to be looked at, not to compete.
  await delay(CALL_EVERY_MS);
  const startedAt = performance.now();
  await caller.call(rawCalls.anthropic?.("ok", true) as RawCall, "bench");
  return performance.now() - startedAt;
};
try {
  await rig.startDaemon();
  const resting: number[] = [];
  for (let n = 0; n < calls + 20; n += 1) {
    const took = await timedCall();
    // The first ones compile code and fill caches.
    if (n >= 20) resting.push(took);
  }
  await rig.stopDaemon();
  const store = await openStore(createSqliteOpener(), databaseFile(rig.home));
  let last = "";
  for (let at = 0; at < records; at += INSERT_SIZE) {
    const count = Math.min(INSERT_SIZE, records - at);
    const made = Array.from({ length: count }, () => sampleRecord({ requestedAt: Date.now() }));
    store.insertRecords(made);
    last = (made.at(-1) as (typeof made)[0]).requestId;
  }
  store.close();

  const startedAt = performance.now();
  await rig.startDaemon();
  // A tick that was planned before the stop may still be half a minute away.
  const poked = rig.poke();
  const draining: number[] = [];
  let drainedMs = 0;
  let nextLookAt = startedAt;
  while (drainedMs === 0) {
    draining.push(await timedCall());
    if (performance.now() < nextLookAt) continue;
    nextLookAt = performance.now() + LOOK_EVERY_MS;
    // What the calls themselves add is sent as well, so the last record of the backlog is what counts.
    const isDone = await readStore(rig.home, (read) => read.requestsById([last])[0]?.syncedAt !== null);
    if (isDone) drainedMs = performance.now() - startedAt;
  }
  await poked;
  const seconds = drainedMs / 1000;
  const ratio = p99(draining) / p99(resting);
  process.stdout.write(`backlog of ${records}: drained in ${seconds.toFixed(1)} s, ${Math.round(records / seconds)} records/s
calls at rest:      ${shown(resting)}
calls in the drain: ${shown(draining)}
p99 in the drain to p99 at rest: ${ratio.toFixed(2)} (goal: at most ${GOAL_RATIO})
`);
  process.exitCode = seconds < (GOAL_SECONDS * records) / 100_000 && ratio <= GOAL_RATIO ? 0 : 1;
} finally {
  caller.close();
  await rig.close();
}
