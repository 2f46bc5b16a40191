/**
 * The daemon's log: one JSON object a line with the event's name and the fields that `core/ports/log.ts` lists for it,
 * written by tslog to any sink; a rotating file is one.
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
export { createLog, type LogSink, MAX_TEXT_LENGTH, MAX_WORD_LENGTH } from "./create-log.ts";
export { LOG_BACKUPS, type LogFile, MAX_LOG_FILE_MIB, openLogFile } from "./rotating-log-file.ts";
