/**
 * `npm run bench:fleet`: 100,000 daemons send their records to one cloud for a day, during which the cloud is unreachable for
 * two hours. The daemons are the real state machines of sync on a virtual clock; the cloud is a queue with the measured time
 * of a batch. Prints how the fleet recovers, and fails if it does not: a record that is lost or stored twice, a daemon that
 * still counts failures at the end, more batches in a second than the cloud takes in five, or a backlog half an hour after the
 * return. `--plot` draws `docs/fleet.svg`.
 *
 * `node bench/fleet/main.ts [--daemons 100000] [--servers 12] [--batch-ms 2.5] [--record-us 40] [--longest-wait 10] [--hours 24]
 * [--records 300] [--seed 7] [--plot]`
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { drawFleet } from "./draw-fleet.ts";
import { judgeFleet } from "./judge-fleet.ts";
import { simulateFleet } from "./simulate-fleet.ts";

const HOUR_MS = 3_600_000;

const { values } = parseArgs({
  options: {
    daemons: { type: "string", default: "100000" },
    servers: { type: "string", default: "12" },
    "batch-ms": { type: "string", default: "2.5" },
    "record-us": { type: "string", default: "40" },
    "longest-wait": { type: "string", default: "10" },
    hours: { type: "string", default: "24" },
    records: { type: "string", default: "300" },
    seed: { type: "string", default: "7" },
    plot: { type: "boolean", default: false },
  },
});

const outage = { from: 14 * HOUR_MS, to: 16 * HOUR_MS };
const cloud = {
  servers: Number(values.servers),
  batchMs: Number(values["batch-ms"]),
  recordMs: Number(values["record-us"]) / 1000,
  longestWaitMs: Number(values["longest-wait"]) * 1000,
  retryAfterMs: 30_000,
};
const [daemons, hours] = [Number(values.daemons), Number(values.hours)];
const { minutes, unhealthy } = simulateFleet({
  ...{ daemons, hours, outage, cloud },
  recordsPerDay: Number(values.records),
  seed: Number(values.seed),
});
const verdict = judgeFleet({ minutes, unhealthy }, outage, cloud);
for (const [name, value] of verdict.figures) console.log(`${name.padEnd(64)} ${value}`);
for (const fault of verdict.faults) console.error(`fault: ${fault}`);
if (values.plot) {
  const title = `${daemons.toLocaleString("en")} daemons, a cloud that is unreachable for two hours`;
  writeFileSync(join(import.meta.dirname, "../../docs/fleet.svg"), drawFleet(minutes, outage, title));
}
process.exitCode = verdict.faults.length === 0 ? 0 : 1;
