#!/usr/bin/env node
// Starts the program: from the sources in a checkout, from `dist/` in an installed package.
import { existsSync } from "node:fs";
import module from "node:module";
import process from "node:process";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `meter needs Node 22.19 or newer, and this is ${process.version}. In a checkout, "npx meter" uses the one it brings.\n`,
  );
  process.exit(1);
}

// Compiled code is kept between runs, in the system's folder for temporary files.
module.enableCompileCache?.();

const source = new URL("./main.ts", import.meta.url);
const { main } = await import(existsSync(source) ? source.href : "../dist/cli/main.js");
process.exitCode = await main(process.argv.slice(2));
