// Runs Biome with this process's arguments and exits with its exit code.
import { spawnSync } from "node:child_process";
import process from "node:process";
import { findProgram, installPackages } from "./packages.ts";

await installPackages("tools/checks");
const args = process.argv.slice(2);
const biome = findProgram("biome");
const { status, error } =
  biome === null
    ? spawnSync("npx", ["--yes", "@biomejs/biome@2.6.8", ...args], {
        stdio: "inherit",
        shell: process.platform === "win32",
      })
    : spawnSync(biome, args, { stdio: "inherit" });
if (error !== undefined) throw error;
process.exit(status ?? 1);
