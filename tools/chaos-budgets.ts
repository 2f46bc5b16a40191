/**
 * `npm run chaos:budgets -- --rounds N --seed S`: kills the daemon at random times under load while budgets block. Exits with 1 unless
 * each budget's sum is then exactly that of the records, and no call stays in flight.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { isExact, runBudgetChaos } from "../tests/chaos/chaos-budgets.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now()) },
  },
});
const result = await runBudgetChaos({ rounds: Number(values.rounds), seed: values.seed }, (line) =>
  process.stdout.write(`${line}\n`),
);
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
process.exit(isExact(result) ? 0 : 1);
