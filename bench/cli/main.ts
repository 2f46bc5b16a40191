// `npm run bench:cli`: the duration of commands that people and prompts run often, compared with `node -e 0` in the same
// run. Uses the output of `npm run build`, as an installed package does. The order alternates, so that load on the machine
// affects all.
import { spawnSync } from "node:child_process";
import process from "node:process";
import { installProgram } from "../installed-program.ts";
import { saveResult } from "../summary/results.ts";

const ROUNDS = 25;

const { program, env, remove } = installProgram();
try {
  const run = (words: readonly string[]) => {
    const startedAt = performance.now();
    const { error } = spawnSync(process.execPath, words, { env, stdio: "ignore" });
    if (error !== undefined) throw error;
    return performance.now() - startedAt;
  };
  const contenders: readonly [name: string, words: readonly string[]][] = [
    ["node -e 0", ["-e", "0"]],
    ["meter --version", [program, "--version"]],
    ["meter --help", [program, "--help"]],
    ["meter status", [program, "status"]],
    ["meter report", [program, "report"]],
  ];
  // The start and one run of each command fill the caches and create a database, as on a machine in use.
  const { status } = spawnSync(process.execPath, [program, "start"], { env, stdio: "inherit" });
  if (status !== 0) throw new Error(`meter start failed with exit code ${status}`);
  const times = new Map(contenders.map(([name]) => [name, [] as number[]]));
  for (const [, words] of contenders) run(words);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, words] of contenders) times.get(name)?.push(run(words));
  }
  spawnSync(process.execPath, [program, "stop"], { env, stdio: "ignore" });
  const median = (name: string) => times.get(name)?.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? Number.NaN;
  const bare = median("node -e 0");
  const allowed = bare * 1.5 + 60;
  process.stdout.write(`medians of ${ROUNDS}; 1.5 times node -e 0 and 60 ms are ${allowed.toFixed(0)} ms\n`);
  for (const [name] of contenders) {
    const ms = median(name);
    process.stdout.write(
      `${name.padEnd(16)} ${ms.toFixed(0).padStart(5)} ms  ${(ms / bare).toFixed(2)} times node -e 0\n`,
    );
  }
  saveResult(
    "cli",
    contenders.slice(1).map(([name]) => ({
      title: name,
      unit: "ms",
      bars: [
        { name, value: median(name) },
        { name: "node -e 0", value: bare },
      ],
      goals: name === "meter status" ? [{ peer: null, most: Math.round(allowed) }] : [],
    })),
  );
} finally {
  remove();
}
