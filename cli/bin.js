#!/usr/bin/env node
// Starts the program: from the sources in a checkout, from `dist/` in an installed package.
import { existsSync } from "node:fs";
import module from "node:module";
import process from "node:process";
import { findCompileCacheFolder } from "./compile-cache.js";
import { isNodeNewEnough } from "./node-version.js";

if (await isNodeNewEnough("meter", import.meta.url)) {
  // A cache that NODE_COMPILE_CACHE names is on already and stays.
  const cacheFolder = findCompileCacheFolder(process.env);
  if (cacheFolder !== null) module.enableCompileCache?.(cacheFolder);
  // Each of these is a program of its own, because it is run often: Node loads it in half the time.
  const word = process.argv[2];
  const isOwnProgram =
    word === "report" || word === "status" || (word === "statusline" && process.argv.length === 3);
  const [file, bundle] = isOwnProgram
    ? [`commands/${word}/run-${word}.ts`, `run-${word}.js`]
    : ["main.ts", "main.js"];
  const source = new URL(file, import.meta.url);
  const { main } = await import(existsSync(source) ? source.href : `../dist/cli/bundle/${bundle}`);
  process.exitCode = await main(process.argv.slice(2));
}
