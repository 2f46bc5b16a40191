import { readInstallRecord } from "../../../adapters/installer/install-record.ts";
import { createProgramRunner } from "../../../adapters/installer/run-program.ts";
import { describeStep } from "../../../core/operations/install/step.ts";
import { findDaemon } from "../../daemon/daemon-process.ts";
import { prepareHome } from "../../home/prepare-home.ts";
import { install } from "../../install/install.ts";
import { makeInstallPlan } from "../../install/install-plan.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { confirmPlan } from "../../program/confirm.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { labelled } from "../../render/labelled.ts";

/** The options of `meter init`. */
export interface InstallMeterOptions {
  readonly apps: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
}

/** Installs meter as a service and trusts its certificates. */
export async function installMeter(context: CommandContext, options: InstallMeterOptions): Promise<number> {
  const { env, home } = context;
  const run = createProgramRunner(env);
  const earlier = await readInstallRecord(home).catch((cause: Error) => {
    throw new CommandFailure(`${cause.message}. Without it an earlier installation can't be undone.`);
  });

  const preview = await makeInstallPlan(home, env, { apps: options.apps, create: false }, earlier, run);
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
  const plan = await makeInstallPlan(home, env, { apps: options.apps, create: true }, earlier, run);
  return install(home, env, plan, earlier, run, (text) => context.print(text));
}
