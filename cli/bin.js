#!/usr/bin/env node
// Starts the program: from the sources in a checkout, from `dist/` in an installed package.
// Modules of Node are not imported here: an import of `node:fs` loads its streams and promises too, 5 ms.
import { isNodeNewEnough } from "./node-version.js";

if (await isNodeNewEnough("meter", import.meta.url)) {
  if (process.env.TZ?.includes("/")) (await import("./time-zone.js")).applyZoneFile(process.env);
  const { existsSync } = process.getBuiltinModule("node:fs");
  const { findCompileCacheFolder } = await import("./compile-cache.js");
  const cacheFolder = findCompileCacheFolder(process.env);
  const words = process.argv.slice(2);
  // Each of these commands is run often, so it is a single file, which Node loads in half the time.
  const isOftenRunCommand =
    ["report", "run", "status"].includes(words[0]) || (words[0] === "statusline" && words.length === 1);
  const source = new URL(
    isOftenRunCommand ? `commands/${words[0]}/run-${words[0]}.ts` : "main.ts",
    import.meta.url,
  );
  if (isOftenRunCommand && !existsSync(source)) {
    const { loadBundle } = await import("./load-bundle.js");
    const bundle = new URL(`../dist/cli/bundle/run-${words[0]}.cjs`, import.meta.url);
    const { program, saveCode } = loadBundle(bundle, cacheFolder);
    process.exitCode = await program.main(words);
    saveCode();
  } else {
    // A cache that NODE_COMPILE_CACHE names is on already and stays.
    if (cacheFolder !== null) process.getBuiltinModule("node:module").enableCompileCache?.(cacheFolder);
    const { main } = await import(existsSync(source) ? source.href : "../dist/cli/bundle/main.js");
    process.exitCode = await main(words);
  }
}
