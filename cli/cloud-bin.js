#!/usr/bin/env node
// Starts the server's program: from the sources in a checkout, from `dist/` in an installed package.
import { existsSync } from "node:fs";
import process from "node:process";
import { isNodeNewEnough } from "./node-version.js";

if (await isNodeNewEnough("meter-cloud", import.meta.url)) {
  const source = new URL("./meter-cloud/main.ts", import.meta.url);
  const { main } = await import(existsSync(source) ? source.href : "../dist/cli/meter-cloud/main.js");
  process.exitCode = await main(process.argv.slice(2));
}
