/**
 * `npm run chaos:power -- --cuts N --database-cuts N --calls N --seed S`: cuts the power of a recorded daemon, and of the cloud's embedded
 * database, at random places, and checks what is left. Exits with 1 if one does not open, or lost or doubled more than
 * `docs/storage.md` allows.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { runDatabasePowerLoss } from "../tests/chaos/power/database-power-loss.ts";
import { LOST_MS, recordingObstacle, runPowerLoss } from "../tests/chaos/power/power-loss.ts";
import { missingPostgres } from "../tests/cloud/kit/postgres-server.ts";

const { values } = parseArgs({
  options: {
    cuts: { type: "string", default: "200" },
    "database-cuts": { type: "string", default: "20" },
    calls: { type: "string", default: "300" },
    seed: { type: "string", default: String(Date.now()) },
  },
});
const obstacle = recordingObstacle() ?? missingPostgres();
if (obstacle !== null) {
  process.stderr.write(`NOT TESTED: ${obstacle}\n`);
  process.exit(1);
}
const { cuts, calls, seed } = values;
const result = await runPowerLoss({ cuts: Number(cuts), calls: Number(calls), seed }, (line) =>
  process.stdout.write(`${line}\n`),
);
const database = await runDatabasePowerLoss({ cuts: Number(values["database-cuts"]), commits: 60, seed });
process.stdout.write(`${JSON.stringify({ ...result, database }, null, 2)}\n`);
process.exit(result.oldestLostMs <= LOST_MS ? 0 : 1);
