// `npm run check:install`: installs the output of `npm pack` like a user, measures it, and runs it on this Node, the oldest
// supported Node, and Bun. Then it installs the packages of the cloud and serves it. Needs the npm registry.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { CLOUD_PACKAGES, installArguments, type OptionalPackage } from "../adapters/optional-packages.ts";
import { findProgram, installPackages } from "./packages.ts";

/** Maximum size of an installation on disk, in bytes. */
const MAX_METER_BYTES = 40_000_000;
const MAX_CORE_BYTES = 12_000_000;

/** The oldest version that `engines` allows. */
const OLDEST_NODE = "22.19";

const folder = mkdtempSync(join(tmpdir(), "meter-install-"));
let failures = 0;

function run(command: string, words: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  const { status, stdout, stderr, error } = spawnSync(command, words, { env, encoding: "utf8", cwd: folder });
  if (error !== undefined) throw error;
  return { status, output: `${stdout}${stderr}` };
}

function expectStatus(
  what: string,
  { status, output }: { status: number | null; output: string },
  expected = 0,
): string {
  const ok = status === expected;
  process.stdout.write(`${ok ? "ok  " : "FAIL"}  ${what}\n`);
  if (!ok) {
    failures += 1;
    process.stdout.write(`      exit code ${status} instead of ${expected}: ${output.trim()}\n`);
  }
  return output;
}

/** Returns the disk space of a folder's files in bytes, in blocks of 4 KiB. */
function diskBytes(path: string): number {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) return Math.ceil(stats.size / 4096) * 4096;
  return readdirSync(path).reduce((sum, name) => sum + diskBytes(join(path, name)), 4096);
}

function expectSize(what: string, path: string, maxBytes: number): void {
  const bytes = existsSync(path) ? diskBytes(path) : Number.POSITIVE_INFINITY;
  const megabytes = (bytes / 1e6).toFixed(1);
  expectStatus(`${what}: ${megabytes} MB, at most ${maxBytes / 1e6}`, {
    status: bytes <= maxBytes ? 0 : 1,
    output: "too large",
  });
}

function install(...words: string[]) {
  return run("npm", ["install", "--silent", "--no-audit", "--no-fund", ...words]);
}

/** Packs a folder of the checkout and returns the file's path. */
function pack(source: string): string {
  const packed = spawnSync("npm", ["pack", "--silent", "--pack-destination", folder, source], {
    cwd: join(import.meta.dirname, ".."),
    encoding: "utf8",
  });
  expectStatus(`npm pack ${source}`, { status: packed.status, output: packed.stderr });
  return join(folder, packed.stdout.trim());
}

/** Runs the installed program from `--version` to `stop`, in a new home. */
function tryProgram(name: string, command: string, words: readonly string[]): void {
  const home = join(folder, `home-${name}`);
  const env = { ...process.env, METER_HOME: home };
  const meter = (...more: string[]) => run(command, [...words, ...more], env);
  expectStatus(`${name}: meter --version`, meter("--version"));
  expectStatus(`${name}: meter status, before the start`, meter("status"), 3);
  expectStatus(`${name}: meter pricing status`, meter("pricing", "status"));
  // Port 0, because another daemon may use the usual ports.
  expectStatus(`${name}: a home`, run("mkdir", ["-p", "-m", "700", home]));
  writeFileSync(join(home, "config.toml"), "[proxy]\nport = 0\n\n[api]\nport = 0\n", { mode: 0o600 });
  expectStatus(`${name}: meter start`, meter("start"));
  expectStatus(`${name}: meter status`, meter("status"));
  expectStatus(`${name}: meter report`, meter("report"));
  expectStatus(`${name}: meter stop`, meter("stop"));
}

function build() {
  const { status, stdout, stderr } = spawnSync("npm", ["run", "--silent", "build"], {
    cwd: join(import.meta.dirname, ".."),
    encoding: "utf8",
  });
  return { status, output: `${stdout}${stderr}` };
}

/** Starts the server without its packages, which must name the command that installs them; installs them, and serves. */
async function tryCloud(prefix: string): Promise<void> {
  const words = [join(prefix, "bin/meter-cloud"), "serve", "--port", "0"];
  const env = { ...process.env, METER_CLOUD_HOME: join(folder, "home-cloud") };
  const refusal = expectStatus(
    "meter-cloud serve, without its packages",
    run(process.execPath, words, env),
    1,
  );
  const packages = installArguments(Object.keys(CLOUD_PACKAGES) as OptionalPackage[]);
  const isNamed = refusal.includes(`npm install -g ${packages}`);
  expectStatus("names the command that installs them", { status: isNamed ? 0 : 1, output: refusal });
  expectStatus(`npm install -g ${packages}`, install("-g", "--prefix", prefix, ...packages.split(" ")));
  const server = spawn(process.execPath, words, { env, cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  for await (const text of server.stdout.setEncoding("utf8")) {
    output += text;
    const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
    if (address === undefined) continue;
    const { status } = await fetch(`${address}/sign-up`);
    expectStatus("meter-cloud serve", { status: status === 200 ? 0 : status, output });
    tryConnect(join(prefix, "bin/meter"), address);
    break;
  }
  if (!output.includes("http://")) expectStatus("meter-cloud serve", { status: server.exitCode, output });
  server.kill();
}

/** Starts to connect this machine to a cloud, and stops before the approval. */
function tryConnect(meter: string, address: string): void {
  const words = [meter, "cloud", "connect", "--base-url", address];
  const env = { ...process.env, METER_HOME: join(folder, "home-node") };
  const { stdout, stderr } = spawnSync(process.execPath, words, { env, encoding: "utf8", timeout: 10_000 });
  const isReached = stdout.includes(`${address}/connect?code=`);
  expectStatus("meter cloud connect", { status: isReached ? 0 : 1, output: `${stdout}${stderr}` });
}

try {
  await installPackages("tools/checks");
  expectStatus("npm run build", build());
  const core = join(folder, "core");
  expectStatus("npm install @llm-meter/core", install("--prefix", core, pack("./dist/core")));
  expectSize("@llm-meter/core", join(core, "node_modules"), MAX_CORE_BYTES);
  writeFileSync(
    join(core, "price.mjs"),
    'import { formatUsd } from "@llm-meter/core/pricing";\nif (formatUsd(10n ** 12n) !== "$1.00") process.exit(1);\n',
  );
  expectStatus("@llm-meter/core/pricing", run(process.execPath, [join(core, "price.mjs")]));

  const prefix = join(folder, "prefix");
  expectStatus("npm install -g @llm-meter/meter", install("-g", "--prefix", prefix, pack(".")));
  expectSize("@llm-meter/meter", join(prefix, "lib/node_modules"), MAX_METER_BYTES);
  const bin = join(prefix, "bin/meter");
  tryProgram("node", process.execPath, [bin]);
  await tryCloud(prefix);

  const platform = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  install("--prefix", join(folder, "old"), `${platform}@${OLDEST_NODE}`);
  const oldNode = join(folder, "old/node_modules", platform, "bin/node");
  if (existsSync(oldNode)) tryProgram("node-22", oldNode, [bin]);
  else expectStatus(`Node ${OLDEST_NODE} from the registry`, { status: 1, output: "not in the registry" });

  const bun = findProgram("bun");
  if (bun === null) expectStatus("Bun", { status: 1, output: "no package for this platform" });
  else tryProgram("bun", bun, ["--bun", bin]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;
