/**
 * `npm run chaos:sync -- --rounds N --seed S`: kills the daemon, the cloud and PostgreSQL at random times under load. Exits
 * with 1 unless every captured request is then in the cloud exactly once and reconcile finds no difference.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { isWhole, runChaos } from "../tests/chaos/chaos-sync.ts";
import { LOST_AFTER_KILL_MS } from "../tests/chaos/kills.ts";
import { missingPostgres } from "../tests/cloud/kit/postgres-server.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now()) },
  },
});
const missing = missingPostgres();
if (missing !== null) {
  process.stderr.write(`NOT TESTED: ${missing}\n`);
  process.exit(1);
}
const result = await runChaos({ rounds: Number(values.rounds), seed: values.seed }, (line) =>
  process.stdout.write(`${line}\n`),
);
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
process.exit(isWhole(result) && result.lostBeforeMs.longest <= LOST_AFTER_KILL_MS ? 0 : 1);
