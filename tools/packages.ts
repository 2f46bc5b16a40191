// Installs the packages that `npm ci` leaves out, when a command first needs them. `npm run setup` installs all of them;
// `node tools/packages.ts COMMAND` also runs a shell command with their programs on the path.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { platform, arch } = process;

/** The folders that have packages and a lock file of their own. */
const FOLDERS = {
  "examples/demo": { what: "the providers' SDKs", megabytes: 98 },
  "tools/build": { what: "TypeScript and esbuild", megabytes: 42 },
  "tools/deploy": { what: "the schemas of Kubernetes and Compose", megabytes: 35 },
  "tools/checks": { what: "Biome, Deno, Bun and the other programs of the checks", megabytes: 395 },
  "tools/formats": { what: "validators of other systems' formats", megabytes: 37 },
} as const;
export type PackageFolder = keyof typeof FOLDERS;

/**
 * The programs that have a package for each platform. The packages that choose among these need an install script, or name
 * versions for platforms that some registry mirrors lack.
 */
const PROGRAMS = {
  biome: `tools/checks/node_modules/@biomejs/cli-${platform}-${arch}/biome`,
  bun: `tools/checks/node_modules/@oven/bun-${platform === "win32" ? "windows" : platform}-${arch === "arm64" && platform !== "win32" ? "aarch64" : arch}/bin/bun`,
  deno: `tools/checks/node_modules/@deno/${platform}-${arch}${platform === "linux" ? "-glibc" : ""}/deno`,
  esbuild: `tools/build/node_modules/@esbuild/${platform}-${arch}/${platform === "win32" ? "" : "bin/"}esbuild`,
};

/** The path of a program; null where it is not installed. */
export function findProgram(name: keyof typeof PROGRAMS): string | null {
  const suffix = platform === "win32" ? ".exe" : "";
  const path = join(root, `${PROGRAMS[name]}${suffix}`);
  return existsSync(path) ? path : null;
}

/** Installs the packages of folders whose lock file changed since the last installation, and puts their programs on the path. */
export async function installPackages(...folders: readonly PackageFolder[]): Promise<void> {
  await Promise.all(folders.filter((folder) => !isInstalled(folder)).map(install));
  for (const folder of folders)
    process.env.PATH = `${join(root, folder, "node_modules/.bin")}${delimiter}${process.env.PATH}`;
}

const lockFile = (folder: PackageFolder) => join(root, folder, "package-lock.json");
/** A copy of the lock file that was installed last. */
const installedLock = (folder: PackageFolder) => join(root, folder, "node_modules/.installed-lock.json");

function isInstalled(folder: PackageFolder): boolean {
  const installed = installedLock(folder);
  return existsSync(installed) && readFileSync(installed, "utf8") === readFileSync(lockFile(folder), "utf8");
}

async function install(folder: PackageFolder): Promise<void> {
  const { what, megabytes } = FOLDERS[folder];
  process.stderr.write(`Installing ${what} in ${folder}/node_modules (${megabytes} MB) …\n`);
  const npm = spawn("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: join(root, folder),
    stdio: ["ignore", "ignore", "inherit"],
    // On Windows, npm is a batch file.
    shell: platform === "win32",
  });
  const [status] = await once(npm, "exit");
  if (status !== 0) throw new Error(`npm ci in ${folder} failed: exit code ${status}`);
  copyFileSync(lockFile(folder), installedLock(folder));
}

/** Installs the packages of all folders. */
export async function installAllPackages(): Promise<void> {
  // `tools/build` is last, so that its TypeScript is first on the path: attw brings an older one.
  await installPackages("examples/demo", "tools/deploy", "tools/formats", "tools/checks", "tools/build");
}

/** Installs all packages and then runs the command of the arguments, if there is one. */
async function main(): Promise<void> {
  const command = process.argv.slice(2).join(" ");
  try {
    await installAllPackages();
    if (command !== "") process.exitCode = spawnSync(command, { shell: true, stdio: "inherit" }).status ?? 1;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}

// Without a top-level `await`: `tools/run-tests.ts` loads tests that import this file with `require`.
if (import.meta.main) void main();
