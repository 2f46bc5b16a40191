/**
 * Who is at the other end of a local connection: the process table of each platform behind the port
 * `core/ports/process-table.ts`.
 *
 * ```ts
 * import { createProcessTable } from "./mod.ts";
 *
 * const facts = await createProcessTable().lookup({ clientPort: 1, proxyPort: 8081 });
 * console.log(facts); // null: nobody connects from port 1
 * ```
 *
 * @module
 */
export {
  createConnectionOwners,
  createLinuxConnectionOwners,
  type LinuxConnectionOwnersOptions,
} from "./connection-owners.ts";
export { createProcessTable } from "./create-process-table.ts";
export {
  type EstablishedConnection,
  listEstablishedConnections,
  plainAddress,
} from "./established-connections.ts";
export { createLinuxProcessTable, type LinuxProcessTableOptions } from "./linux.ts";
export { createMacosProcessTable } from "./macos.ts";
export { readOpenFilesLimit } from "./open-files-limit.ts";
export type { RunCommand } from "./run-command.ts";
export { createWindowsProcessTable } from "./windows.ts";
