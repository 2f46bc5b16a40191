/**
 * `npm run chaos:kills -- --rounds N --seed S`: kills a supervised daemon, or with `--victim relay` its relay, by SIGKILL, SIGSEGV and
 * SIGABRT under traffic and imports, and measures what is lost and how long new calls wait. The program is bundled as in an installation:
 * from the sources, a start takes more than twice the CPU time. Exits with 1 if more is lost, or new calls wait longer, than
 * `docs/durability.md` allows.
 */
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { PROGRAMS_VARIABLE } from "../tests/end-to-end/program-file.rig.ts";
import { installPackages } from "./packages.ts";
import { writeTestProgram } from "./test-program.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
if (process.env[PROGRAMS_VARIABLE] === undefined) {
  await installPackages("tools/build");
  const programs = await writeTestProgram(root, join(root, "node_modules/.cache/chaos-programs"));
  if (programs !== null) process.env[PROGRAMS_VARIABLE] = programs;
}
// Imported only now, because these modules read the variable when they are loaded.
const { ANSWERED_AGAIN_MS, isKept, LOST_AFTER_KILL_MS, runKills } = await import("../tests/chaos/kills.ts");

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
const isInTime =
  result.lostBeforeMs.longest <= LOST_AFTER_KILL_MS &&
  result.answeredAgainMs.longest <= ANSWERED_AGAIN_MS[victim];
process.exit(isKept(result) && isInTime ? 0 : 1);
