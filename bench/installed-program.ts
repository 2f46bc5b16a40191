// Installs the program as npm would, for benches that start it.
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";

const root = resolve(import.meta.dirname, "..");

/** An installed program with its own home. */
interface InstalledProgram {
  /** The path of `cli/bin.js`, next to which there are no sources. */
  readonly program: string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  remove(): void;
}

/** Whether `npm run build` has written its output. */
export const isBuilt = () => existsSync(join(root, "dist/cli/bundle/main.js"));

/** Installs the output of `npm run build` in a temporary folder. */
export function installProgram(): InstalledProgram {
  if (!isBuilt()) throw new Error("The program is not built. Build it: npm run build");
  const folder = mkdtempSync(join(tmpdir(), "meter-bench-"));
  cpSync(join(root, "dist"), join(folder, "dist"), { recursive: true });
  for (const name of [
    "cli/bin.js",
    "cli/compile-cache.js",
    "cli/load-bundle.js",
    "cli/node-version.js",
    "cli/supervise.sh",
    "cli/time-zone.js",
  ])
    cpSync(join(root, name), join(folder, name));
  cpSync(join(root, "package.json"), join(folder, "package.json"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const home = join(folder, "home");
  mkdirSync(home, { mode: 0o700 });
  // Port 0, because another daemon may use the usual ports.
  writeFileSync(join(home, "config.toml"), "[proxy]\nport = 0\n[api]\nport = 0\n");
  return {
    program: join(folder, "cli/bin.js"),
    home,
    env: { ...process.env, METER_HOME: home },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
