import { createLinuxCallers } from "../../../adapters/process-table/linux.ts";
import {
  createConnectionOwners,
  createLookupQueue,
  createProcessTable,
} from "../../../adapters/process-table/lookup-queue.ts";
import { answerOnMacos } from "../../../adapters/process-table/macos.ts";
import type { RunCommand } from "../../../adapters/process-table/run-command.ts";
import { answerOnWindows } from "../../../adapters/process-table/windows.ts";

type LinuxCallersOptions = NonNullable<Parameters<typeof createLinuxCallers>[0]>;

// The lookups of each system in the calling thread. The daemon uses `createCallerLookup()`, which has its own thread on Linux.

export function createLinuxProcessTable(options?: LinuxCallersOptions) {
  const answer = createLinuxCallers(options);
  return createProcessTable(createLookupQueue((queries) => answer(queries)));
}

export function createLinuxConnectionOwners(options: LinuxCallersOptions) {
  const answer = createLinuxCallers(options);
  return createConnectionOwners(
    createLookupQueue((queries) => answer(queries)),
    options.ownUid,
  );
}

export const createMacosProcessTable = (run: RunCommand) =>
  createProcessTable(createLookupQueue(answerOnMacos(run)));

export const createWindowsProcessTable = (run: RunCommand) =>
  createProcessTable(createLookupQueue(answerOnWindows(run)));
