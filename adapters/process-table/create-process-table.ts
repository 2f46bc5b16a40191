import type { ProcessTable } from "../../core/ports/process-table.ts";
import { createLinuxProcessTable } from "./linux.ts";
import { createMacosProcessTable } from "./macos.ts";
import { createWindowsProcessTable } from "./windows.ts";

/** The process table of this platform; one that knows nobody where we have none. */
export function createProcessTable(platform: string = process.platform): ProcessTable {
  if (platform === "linux" || platform === "android") return createLinuxProcessTable();
  if (platform === "darwin") return createMacosProcessTable();
  if (platform === "win32") return createWindowsProcessTable();
  return { lookup: async () => null };
}
