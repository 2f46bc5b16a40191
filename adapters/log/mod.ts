/**
 * The log: one JSON line an event, by tslog, to any sink; a rotating file is one.
 *
 * ```ts
 * import { createLog } from "./mod.ts";
 *
 * const lines: string[] = [];
 * createLog({ write: (line) => lines.push(line) }, "info").info("proxy.restarted", { port: 8081 });
 * console.log(JSON.parse(lines[0] as string).event); // "proxy.restarted"
 * ```
 */
export { createLog, type LogLevel, type LogSink } from "./create-log.ts";
export { LOG_BACKUPS, type LogFile, MAX_LOG_FILE_MIB, openLogFile } from "./rotating-log-file.ts";
