// `npm run check:install`: what `npm pack` makes, installed as a person installs it, on each runtime that is to run it:
// this Node, the oldest Node that is supported, and Bun. Needs the registry, for the dependencies and that Node.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** The oldest that `engines` allows. */
const OLDEST_NODE = "22.19";

const folder = mkdtempSync(join(tmpdir(), "meter-install-"));
let failures = 0;

function run(command: string, words: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  const { status, stdout, stderr, error } = spawnSync(command, words, { env, encoding: "utf8", cwd: folder });
  if (error !== undefined) throw error;
  return { status, said: `${stdout}${stderr}` };
}

function must(what: string, { status, said }: { status: number | null; said: string }, wanted = 0): string {
  const ok = status === wanted;
  process.stdout.write(`${ok ? "ok  " : "FAIL"}  ${what}\n`);
  if (!ok) {
    failures += 1;
    process.stdout.write(`      ended with ${status}, not ${wanted}: ${said.trim()}\n`);
  }
  return said;
}

/** The program from install to stop, with a home of its own. */
function tryOut(name: string, command: string, words: readonly string[]): void {
  const home = join(folder, `home-${name}`);
  const env = { ...process.env, METER_HOME: home };
  const meter = (...more: string[]) => run(command, [...words, ...more], env);
  must(`${name}: meter --version`, meter("--version"));
  must(`${name}: meter status, before the start`, meter("status"), 3);
  must(`${name}: meter pricing status`, meter("pricing", "status"));
  // Any free port: another daemon may have the usual ones.
  must(`${name}: a home`, run("mkdir", ["-p", "-m", "700", home]));
  writeFileSync(join(home, "config.toml"), "[proxy]\nport = 0\n\n[api]\nport = 0\n", { mode: 0o600 });
  must(`${name}: meter start`, meter("start"));
  must(`${name}: meter status`, meter("status"));
  must(`${name}: meter report`, meter("report"));
  must(`${name}: meter stop`, meter("stop"));
}

try {
  const root = join(import.meta.dirname, "..");
  const packed = spawnSync("npm", ["pack", "--silent", "--pack-destination", folder], {
    cwd: root,
    encoding: "utf8",
  });
  const tarball = join(folder, packed.stdout.trim());
  must("npm pack", { status: packed.status, said: packed.stderr });
  must(
    "npm install -g",
    run("npm", [
      "install",
      "--silent",
      "--no-audit",
      "--no-fund",
      "-g",
      "--prefix",
      join(folder, "prefix"),
      tarball,
    ]),
  );
  const bin = join(folder, "prefix/bin/meter");
  tryOut("node", process.execPath, [bin]);

  const platform = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  run("npm", [
    "install",
    "--silent",
    "--no-audit",
    "--no-fund",
    "--prefix",
    join(folder, "old"),
    `${platform}@${OLDEST_NODE}`,
  ]);
  const oldNode = join(folder, "old/node_modules", platform, "bin/node");
  if (existsSync(oldNode)) tryOut("node-22", oldNode, [bin]);
  else must(`Node ${OLDEST_NODE} from the registry`, { status: 1, said: "not there" });

  tryOut("bun", "bun", ["--bun", bin]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;
