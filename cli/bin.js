#!/usr/bin/env node
// Starts the program: from the sources in a checkout, from `dist/` in an installed package.
import { existsSync } from "node:fs";
import module from "node:module";
import process from "node:process";
import { isNodeNewEnough } from "./node-version.js";

if (await isNodeNewEnough("meter", import.meta.url)) {
  // Compiled code is kept between runs, in the system's folder for temporary files.
  module.enableCompileCache?.();
  const source = new URL("./main.ts", import.meta.url);
  const { main } = await import(existsSync(source) ? source.href : "../dist/cli/main.js");
  process.exitCode = await main(process.argv.slice(2));
}
