/**
 * The two programs as functions: `meter` and `meter-cloud`, given their arguments.
 *
 * ```ts
 * import { runMeter } from "./mod.ts";
 *
 * const { stdout, stderr } = process;
 * console.log(await runMeter(["--version"], { stdout, stderr, env: {} })); // the version, then the exit code 0
 * ```
 *
 * @module
 */
export { main as runMeter } from "./main.ts";
export { main as runMeterCloud } from "./meter-cloud/main.ts";
export type { MainContext } from "./program/run-program.ts";
