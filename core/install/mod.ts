/**
 * What `meter init` does to a machine, as data: facts in, a list of steps out, each with its way back. Nothing here
 * touches the machine; `adapters/installer` takes the steps and records each before it is taken.
 *
 * ```ts
 * import { describeStep, planInstall } from "./mod.ts";
 *
 * const steps = planInstall({
 *   program: { nodePath: "/usr/bin/node", programPath: "/opt/meter/bin.js", meterHome: "/home/u/.meter", environment: {} },
 *   name: "meter",
 *   proxy: { host: "127.0.0.1", port: 8081 },
 *   service: { kind: "systemd", unitFolder: "/home/u/.config/systemd/user" },
 *   ca: { path: "/home/u/.meter/ca/ca.pem", pem: "", sha1: "" },
 *   trustStores: [],
 *   apps: null,
 * });
 * console.log(describeStep(steps[1]!)); // "write /home/u/.config/systemd/user/meter.service"
 * ```
 *
 * @module
 */
export { fishFile, quoteForFish, quoteForShell, sessionFile, shellFile } from "./environment-files.ts";
export {
  BLOCK_BEGIN,
  BLOCK_END,
  type BlockEdit,
  blockText,
  insertBlock,
  readBlock,
  removeBlock,
} from "./managed-block.ts";
export { mergePlan, type PlannedStep, putEntry } from "./merge-plan.ts";
export {
  type InstallFacts,
  planInstall,
  type ServiceManager,
  type ShellStartFile,
  type TrustStore,
  trustAdvice,
} from "./plan-install.ts";
export {
  environmentAgent,
  launchAgent,
  type ServiceProgram,
  scheduledTask,
  systemdService,
  systemdSocket,
} from "./service-files.ts";
export { type ServiceWords, serviceWords } from "./service-words.ts";
export {
  type BeforeStep,
  describeStep,
  describeUndo,
  type InstallCommand,
  type InstallEntry,
  type InstallRecord,
  type InstallStep,
  installRecordSchema,
  stepKey,
} from "./step.ts";
