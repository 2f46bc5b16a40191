/**
 * `npm run chaos:power -- --cuts N --database-cuts N --postgres-cuts N --calls N --pause-ms N --seed S`: cuts the power of a recorded daemon, of the
 * cloud's embedded database, and of the cloud with PostgreSQL, at random places, and opens the databases that are left. Exits with 1 if one
 * does not open, or if more is lost or duplicated than `docs/durability.md` allows.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { runDatabasePowerLoss } from "../tests/chaos/power/database-power-loss.ts";
import { runPostgresPowerLoss } from "../tests/chaos/power/postgres-power-loss.ts";
import { allowedMs, recordingObstacle, runPowerLoss } from "../tests/chaos/power/power-loss.ts";
import { missingPostgres } from "../tests/cloud/kit/postgres-server.ts";

/** Rounds of three machines that send batches and bodies. */
const POSTGRES_ROUNDS = 12;

/** Batches that are sent to the cloud on its embedded database. */
const BATCHES = 60;

const { values } = parseArgs({
  options: {
    cuts: { type: "string", default: "200" },
    "database-cuts": { type: "string", default: "20" },
    "postgres-cuts": { type: "string", default: "20" },
    calls: { type: "string", default: "300" },
    "pause-ms": { type: "string", default: "0" },
    seed: { type: "string", default: String(Date.now()) },
  },
});
const obstacle = recordingObstacle() ?? missingPostgres();
if (obstacle !== null) {
  process.stderr.write(`NOT TESTED: ${obstacle}\n`);
  process.exit(1);
}
const { cuts, calls, seed } = values;
const print = (line: string) => void process.stdout.write(`${line}\n`);
const result = await runPowerLoss(
  { cuts: Number(cuts), calls: Number(calls), seed, pauseMs: Number(values["pause-ms"]) },
  print,
);
const database = await runDatabasePowerLoss({
  cuts: Number(values["database-cuts"]),
  batches: BATCHES,
  seed,
});
const postgres = await runPostgresPowerLoss(
  { cuts: Number(values["postgres-cuts"]), rounds: POSTGRES_ROUNDS, seed },
  print,
);
process.stdout.write(`${JSON.stringify({ ...result, database, postgres }, null, 2)}\n`);
process.exit(result.longestUnsyncedMs <= allowedMs(result) ? 0 : 1);
