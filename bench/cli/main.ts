// `npm run bench:cli`: the duration of commands that people and prompts run often, compared with `node -e 0` in the same
// run. Uses the output of `npm run build`, as an installed package does. The order alternates, so that load on the machine
// affects all.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";

const ROUNDS = 25;

const root = resolve(import.meta.dirname, "../..");
if (!existsSync(join(root, "dist/cli/bundle/main.js"))) {
  process.stderr.write("npm run build comes first\n");
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), "meter-bench-cli-"));
try {
  // A package as it is installed: without the sources next to `cli/bin.js`.
  cpSync(join(root, "dist"), join(folder, "dist"), { recursive: true });
  for (const name of ["cli/bin.js", "cli/compile-cache.js", "cli/node-version.js"])
    cpSync(join(root, name), join(folder, name));
  cpSync(join(root, "package.json"), join(folder, "package.json"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const home = join(folder, "home");
  mkdirSync(home, { mode: 0o700 });
  // Port 0, because another daemon may use the usual ports.
  writeFileSync(join(home, "config.toml"), "[proxy]\nport = 0\n[api]\nport = 0\n");
  const env = { ...process.env, METER_HOME: home };
  const program = join(folder, "cli/bin.js");
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
  // Runs once to fill the caches and create a database, as on a machine in use.
  const { status } = spawnSync(process.execPath, [program, "start"], { env, stdio: "inherit" });
  if (status !== 0) throw new Error(`meter start ended with ${status}`);
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
} finally {
  rmSync(folder, { recursive: true, force: true });
}
