/**
 * `npm run chaos:kills -- --rounds N --seed S`: kills a supervised daemon, or with `--victim relay` its relay, by SIGKILL, SIGSEGV and
 * SIGABRT under traffic and imports, and measures what is lost and how long new calls wait. Exits with 1 if more is lost than `docs/durability.md` allows.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { isKept, LOST_AFTER_KILL_MS, runKills } from "../tests/chaos/kills.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "20" },
    victim: { type: "string", default: "daemon" },
    seed: { type: "string", default: String(Date.now()) },
  },
});
const victim = values.victim === "relay" ? "relay" : "daemon";
const result = await runKills({ rounds: Number(values.rounds), seed: values.seed, victim }, (line) =>
  process.stdout.write(`${line}\n`),
);
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
process.exit(isKept(result) && result.lostBeforeMs.longest <= LOST_AFTER_KILL_MS ? 0 : 1);
