/**
 * A lock between processes that the system lets go of when its holder ends, however it ends.
 *
 * ```ts
 * import { createSqliteOpener } from "../sqlite/mod.ts";
 * import { takeExclusiveLock } from "./mod.ts";
 *
 * const lock = await takeExclusiveLock(createSqliteOpener(), ":memory:");
 * console.log(lock !== null); // true: nobody else holds it
 * lock?.release();
 * ```
 */
export { type ExclusiveLock, isLocked, LOOK_MS, takeExclusiveLock, waitForLock } from "./exclusive-lock.ts";
