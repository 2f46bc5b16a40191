import { existsSync } from "node:fs";
import { join } from "node:path";
import { findUserHome } from "../../../adapters/files/meter-home.ts";
import { readInstallRecord, writeInstallRecord } from "../../../adapters/installer/install-record.ts";
import { createProgramRunner, type RunProgram } from "../../../adapters/installer/run-program.ts";
import { undoEntries } from "../../../adapters/installer/undo-entries.ts";
import { describeUndo, type InstallRecord } from "../../../core/operations/install/step.ts";
import { findDaemon } from "../../daemon/daemon-process.ts";
import { findHolder } from "../../daemon/find-holder.ts";
import { stopDaemonOf } from "../../daemon/start-daemon.ts";
import { authorityFiles } from "../../home/prepare-home.ts";
import { installName } from "../../install/install-plan.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { confirmPlan } from "../../program/confirm.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { deleteFromHome, listHome } from "./home-contents.ts";
import { trustedByHand } from "./trusted-by-hand.ts";

/** The options of `meter uninstall`. */
export interface UninstallOptions {
  readonly purge: boolean;
  readonly includeLogs: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
}

/** Undoes what init did. */
export async function uninstallMeter(context: CommandContext, options: UninstallOptions): Promise<number> {
  const { env, home } = context;
  const record = await readInstallRecord(home).catch((cause: Error) => {
    throw new CommandFailure(`${cause.message}.`);
  });
  const { deleted } = listHome(home, { purge: options.purge, logs: options.includeLogs });
  const isRunning = (await findDaemon(home)) !== null || (await findHolder(home)) !== null;
  if (record === null && deleted.length === 0) {
    context.print(`Nothing is installed in ${home}.`);
    return exitCodes.ok;
  }
  printPlan(context, record, isRunning, deleted);
  if (options.purge && existsSync(join(home, "cloud-credentials.json")))
    context.print("This machine's key stays valid in the cloud. Revoke it first: meter cloud disconnect");
  const exitCode = await confirmPlan(context, { ...options, isPermanent: options.purge });
  if (exitCode !== null) return exitCode;

  const isUndone = record === null || (await undoRecord(context, record, createProgramRunner(env)));
  await stopDaemonOf(home, await findDaemon(home), env, context.notice);
  if (!isUndone) {
    context.print("The failed steps are still recorded. Fix their cause, then try again: meter uninstall");
    return exitCodes.failed;
  }
  deleteFiles(context, record, options);
  if (record?.apps === true) context.print("Open shells still have the proxy variables. Open new ones.");
  context.print("Uninstalled.");
  return exitCodes.ok;
}

function printPlan(
  context: CommandContext,
  record: InstallRecord | null,
  isRunning: boolean,
  deleted: readonly string[],
): void {
  context.print(`Uninstalling meter from ${context.home}:`);
  for (const entry of record?.entries.toReversed() ?? []) {
    const undo = describeUndo(entry);
    if (undo !== null) context.print(`  ${undo}`);
  }
  if (isRunning) context.print("  stop the daemon");
  for (const name of deleted) context.print(`  delete ${join(context.home, name)}`);
}

/** Undoes the recorded steps, the last one first. Steps that fail stay in the record. Whether all were undone. */
async function undoRecord(context: CommandContext, record: InstallRecord, run: RunProgram): Promise<boolean> {
  let hasFailed = false;
  let entries = record.entries;
  await undoEntries(record.entries, run, ({ entry, outcome, problem }) => {
    if (outcome === "failed") hasFailed = true;
    else entries = entries.filter((each) => each !== entry);
    if (problem !== null) context.print(`${outcome === "failed" ? "Failed" : "Not undone"}: ${problem}`);
    writeInstallRecord(context.home, { ...record, entries });
  });
  if (!hasFailed) writeInstallRecord(context.home, null);
  return !hasFailed;
}

/** Deletes the files in the home and prints what is left there and elsewhere. */
function deleteFiles(
  context: CommandContext,
  record: InstallRecord | null,
  { purge, includeLogs: logs }: UninstallOptions,
): void {
  const { home } = context;
  // Compared before the authority's file is deleted.
  const trusted = trustedByHand(
    record?.name ?? installName(home, findUserHome()),
    authorityFiles(home).caFile,
  );
  deleteFromHome(home, { purge, logs });
  const { deleted: undeleted, kept } = listHome(home, { purge, logs });
  for (const name of undeleted) context.print(`${join(home, name)} could not be deleted.`);
  if (kept.length > 0) context.print(`Kept in ${home}: ${kept.join(", ")}`);
  if (trusted === null) return;
  context.print(`This machine still trusts ${trusted}. Only root can remove it:`);
  context.print(`  sudo rm ${trusted} && sudo update-ca-certificates --fresh`);
}
