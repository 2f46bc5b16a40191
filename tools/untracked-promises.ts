/**
 * Loaded before a test file with `--import`: keeps `node:test` from tracking promises, which takes a third of the CPU time of
 * tests that query a database. The test runner tracks them to tell which test caused an uncaught error. Without that, such an
 * error fails the file rather than the test, and is printed here with its stack.
 */
import asyncHooks from "node:async_hooks";
import process from "node:process";

const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => {
  // An option of Node that its types lack.
  const options = { ...callbacks, trackPromises: false };
  return createHook(options);
};

process.on("uncaughtExceptionMonitor", (error, origin) => {
  process.stderr.write(`${origin}: ${error instanceof Error ? error.stack : String(error)}\n`);
});
