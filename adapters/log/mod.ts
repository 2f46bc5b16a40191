/**
 * The logs of the daemon and of the cloud: one JSON object per line with the event's name and the fields that
 * `core/ports/log.ts` and `core/ports/cloud-log.ts` list for it, written by tslog to any sink; a rotating file is one.
 *
 * ```ts
 * import { createLog } from "./mod.ts";
 *
 * const lines: string[] = [];
 * createLog({ write: (line) => lines.push(line) }, "info").info("proxy.restarted", { port: 8081 });
 * console.log(JSON.parse(lines[0] as string).event); // "proxy.restarted"
 * ```
 *
 * @module
 */
export { createCloudLog } from "./create-cloud-log.ts";
export { createLog } from "./create-log.ts";
export type { LogSink } from "./line-logger.ts";
export { type LogFile, openLogFile } from "./rotating-log-file.ts";
