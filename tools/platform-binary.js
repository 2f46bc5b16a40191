// Starts a binary of this platform from its package on the npm registry. The packages that would choose it by themselves
// need an install script, or name packages for platforms that not every registry mirror has.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import process from "node:process";

/** Runs the binary with this process's words and ends with its exit code; `instead` is run where there is none. */
export function runBinary(packageName, file, instead) {
  const words = process.argv.slice(2);
  let binary;
  try {
    binary = createRequire(import.meta.url).resolve(`${packageName}/${file}`);
  } catch (cause) {
    if (instead === undefined) throw cause;
  }
  const [program, ...first] = binary === undefined ? instead : [binary];
  const child = spawnSync(program, [...first, ...words], {
    stdio: "inherit",
    shell: binary === undefined && process.platform === "win32",
  });
  if (child.error) throw child.error;
  process.exit(child.status ?? 1);
}

const os = { win32: "windows" }[process.platform] ?? process.platform;

/** This platform's name with each package's own words. */
export const platform = { os, node: process.platform, arch: process.arch };
