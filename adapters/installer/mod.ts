/**
 * Takes the steps that `core/install` plans, and takes them back: files, marked lines in the user's own files, variables
 * of the session, commands of the system. Each step is recorded before it is taken.
 *
 * ```ts
 * import { createRunWords, findMachine } from "./mod.ts";
 *
 * const machine = await findMachine({ env: { HOME: "/home/u", PATH: "/usr/bin" }, run: createRunWords() });
 * console.log(machine.trustStores.length);
 * ```
 *
 * @module
 */
export {
  findMachine,
  findProgram,
  findStartFiles,
  type Machine,
  type MachineOptions,
} from "./find-machine.ts";
export {
  InstallRecordError,
  installRecordFile,
  readInstallRecord,
  writeInstallRecord,
} from "./install-record.ts";
export { createRunWords, type Ran, type RunWords } from "./run-words.ts";
export { readVariable, writeVariable } from "./session-variable.ts";
export { findStale, InstallStepError, takeSteps } from "./take-steps.ts";
export { type Undone, undoEntries } from "./undo-entries.ts";
