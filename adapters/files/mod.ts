/**
 * Files: the meter's home, replacing a file in one step.
 *
 * ```ts
 * import { meterHome } from "./mod.ts";
 *
 * console.log(meterHome({ METER_HOME: "/tmp/meter" })); // "/tmp/meter"
 * ```
 */
export { meterHome } from "./meter-home.ts";
export { writeFileAtomic } from "./write-file-atomic.ts";
