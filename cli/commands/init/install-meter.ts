import { readInstallRecord, writeInstallRecord } from "../../../adapters/installer/install-record.ts";
import { createProgramRunner, type RunProgram } from "../../../adapters/installer/run-program.ts";
import { undoEntries } from "../../../adapters/installer/undo-entries.ts";
import { describeStep, type InstallRecord } from "../../../core/operations/install/step.ts";
import { findDaemon } from "../../daemon/daemon-process.ts";
import { prepareHome } from "../../home/prepare-home.ts";
import { install } from "../../install/install.ts";
import { makeInstallPlan } from "../../install/install-plan.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { confirmPlan } from "../../program/confirm.ts";
import { CommandFailure, exitCodes } from "../../program/exit-codes.ts";
import { offerImport } from "../../records/offer-import.ts";
import { labelled } from "../../render/labelled.ts";
import { runImport } from "../run-import.ts";

/** The options of `meter init`. */
export interface InstallMeterOptions {
  readonly apps: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly statusline: boolean;
  readonly removeStatusline: boolean;
  readonly import: boolean | undefined;
}

/** Installs meter as a service and trusts its certificates. */
export async function installMeter(context: CommandContext, options: InstallMeterOptions): Promise<number> {
  const { env, home } = context;
  const run = createProgramRunner(env);
  const earlier = await readInstallRecord(home).catch((cause: Error) => {
    throw new CommandFailure(`${cause.message}. Without it an earlier installation can't be undone.`);
  });

  if (options.removeStatusline) return await removeStatusline(context, earlier, run);
  const wanted = { apps: options.apps, statusline: options.statusline };
  const preview = await makeInstallPlan(home, env, { ...wanted, create: false }, earlier, run);
  context.print(`${earlier === null ? "Installing" : "Updating the installation of"} meter in ${home}:`);
  context.print("  create its folder, certificate authority and database if they are missing");
  for (const { step, how } of preview.steps) {
    if (how !== "keep" && (step.kind !== "commands" || step.do.length > 0))
      context.print(`  ${describeStep(step)}`);
  }
  if (preview.machine.service === null && (await findDaemon(home)) === null)
    context.print("  start the daemon");
  for (const { text, command } of preview.notes) {
    context.print(labelled("", text, 0, context.width));
    if (command !== null) context.print(`  ${command}`);
  }
  const exitCode = await confirmPlan(context, options);
  if (exitCode !== null) return exitCode;
  prepareHome(home);
  const plan = await makeInstallPlan(home, env, { ...wanted, create: true }, earlier, run);
  const installed = await install(home, env, plan, earlier, run, (text) => context.print(text));
  if (earlier === null || options.import === true)
    await offerImport(context, { isWanted: options.import, canAsk: !options.yes }, () =>
      runImport(context, home),
    );
  return installed;
}

/** Undoes only the step that set the status line of Claude Code. */
async function removeStatusline(
  { home, print }: CommandContext,
  earlier: InstallRecord | null,
  run: RunProgram,
): Promise<number> {
  const entries = earlier?.entries.filter(({ step }) => step.kind === "member") ?? [];
  if (earlier === null || entries.length === 0) throw new CommandFailure("No status line was installed.");
  const undone = await undoEntries(entries, run);
  const failed = undone.filter(({ outcome }) => outcome === "failed").map(({ entry }) => entry);
  const left = earlier.entries.filter((entry) => !entries.includes(entry) || failed.includes(entry));
  writeInstallRecord(home, { ...earlier, entries: left });
  for (const { problem } of undone) if (problem !== null) print(`Not undone: ${problem}`);
  if (failed.length > 0) return exitCodes.failed;
  print("The status line of Claude Code was removed.");
  return exitCodes.ok;
}
