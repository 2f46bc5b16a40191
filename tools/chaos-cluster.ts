/**
 * `npm run chaos:cluster -- --rounds N --seed S`: runs the cloud on the Citus cluster that `METER_TEST_CITUS_URL` names (the coordinator, as
 * a superuser, with its workers added), with a process for each node, under load, while workers and the coordinator are killed, a worker is
 * added, shards move, a tenant is isolated and backups are written. Exits with 1 unless every acknowledged record is then stored once, every
 * rollup is the sum of its records, and every backup can be restored.
 *
 * Nodes are killed and started by the shell commands in `METER_TEST_CITUS_KILL` and `METER_TEST_CITUS_START`, in which `$NODE_HOST` and
 * `$NODE_PORT` name the node, such as `docker kill citus-$NODE_PORT` and `docker start citus-$NODE_PORT`.
 * `METER_TEST_CITUS_SPARE` is a node that is not part of the cluster yet, such as `worker-3:5432`: it is added under load.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { type ClusterEvent, EVENTS, isExact, runClusterChaos } from "../tests/chaos/chaos-cluster.ts";
import { CITUS_URL } from "../tests/cloud/kit/engines.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "15" },
    seed: { type: "string", default: String(Date.now()) },
    workspaces: { type: "string", default: "6" },
    /** Some of the events, separated by commas. Default: all. */
    only: { type: "string" },
  },
});
if (CITUS_URL === null) {
  process.stderr.write("NOT TESTED: METER_TEST_CITUS_URL names no cluster\n");
  process.exit(1);
}
const {
  METER_TEST_CITUS_KILL: kill = null,
  METER_TEST_CITUS_START: start = null,
  METER_TEST_CITUS_SPARE: added,
} = process.env;
const [host = "", port = "5432"] = added?.split(":") ?? [];
const spare = added === undefined ? null : { host, port: Number(port), isCoordinator: false };
const requested =
  values.only === undefined ? EVENTS : EVENTS.filter((each) => values.only?.split(",").includes(each));
const canKill = kill !== null && start !== null;
const events: ClusterEvent[] = requested.filter((each) =>
  each === "add_worker" ? spare !== null : canKill || !each.startsWith("kill_"),
);
const untested = requested.filter((each) => !events.includes(each));
if (untested.length > 0) {
  process.stdout.write(
    `NOT TESTED: ${untested.join(", ")}: METER_TEST_CITUS_KILL and _START, or _SPARE, are not set\n`,
  );
}
const result = await runClusterChaos(
  {
    ...{ url: CITUS_URL, seed: values.seed, events, kill, start, spare },
    ...{ rounds: Number(values.rounds), workspaces: Number(values.workspaces) },
  },
  (line) => process.stdout.write(`${line}\n`),
);
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
process.exit(isExact(result) ? 0 : 1);
