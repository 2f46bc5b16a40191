#!/usr/bin/env node
// Starts the server's program: from the sources in a checkout, from `dist/` in an installed package.
import { existsSync } from "node:fs";
import process from "node:process";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `meter-cloud needs Node 22.19 or newer, and this is ${process.version}. In a checkout, "npm run cloud" uses the one it brings.\n`,
  );
  process.exit(1);
}

const source = new URL("./meter-cloud/main.ts", import.meta.url);
const { main } = await import(existsSync(source) ? source.href : "../dist/cli/meter-cloud/main.js");
process.exitCode = await main(process.argv.slice(2));
