/**
 * Two programs in one file, for a machine whose `ss` hangs. On the main thread: looks up callers through the lookup thread, waits
 * until `ss` runs, and closes the lookup. In the thread: the lookups, with the kernel's tables and the `ss` of a folder.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { getEnvironmentData, isMainThread, parentPort, setEnvironmentData } from "node:worker_threads";
import { createCallerLookup } from "../../../adapters/process-table/caller-lookup.ts";
import { createLinuxCallers } from "../../../adapters/process-table/linux.ts";
import { serveLookups } from "../../../adapters/process-table/serve-lookups.ts";
import { createSocketDiagnosis } from "../../../adapters/process-table/socket-diag.ts";

/** So long that only the end of the lookup kills `ss`. */
const NEVER_MS = 1_000_000;

function serve(folder: string): void {
  const stopped = new AbortController();
  let nowMs = 0;
  const callers = createLinuxCallers({
    proc: join(folder, "proc"),
    monotonicMs: () => (nowMs += 16), // every reading is slow
    diagnose: createSocketDiagnosis({
      program: join(folder, "ss"),
      timeoutMs: NEVER_MS,
      signal: stopped.signal,
    }),
  });
  if (parentPort !== null) serveLookups(parentPort, callers, () => stopped.abort());
}

async function lookUpAndClose(folder: string): Promise<void> {
  setEnvironmentData("folder", folder);
  const lookup = createCallerLookup("linux", () => performance.now(), new URL(import.meta.url));
  // The first reading does not find it and is slow, so the second one uses `ss`.
  void lookup.owners?.ownerOf({ clientAddress: "127.0.0.1", clientPort: 52_514, serverPort: 8081 });
  while (!readdirSync(folder).some((name) => name.startsWith("pid-"))) await delay(5);
  await lookup.close();
  console.log("closed");
}

if (isMainThread) await lookUpAndClose(process.argv[2] ?? "");
else serve(String(getEnvironmentData("folder")));
