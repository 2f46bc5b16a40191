import { Command, Option } from "clipanion";
import { CommandFailure } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";

export class InitCommand extends MeterCommand {
  static override paths = [["init"]];
  static override usage = Command.Usage({
    category: "Installing",
    description: "install a service that meters, and trust its certificates",
    details: `
      Makes the home and the certificate authority, keeps the daemon running from login on, and trusts the authority for
      this user. With \`--apps\`, new shells and desktop sessions are led through the meter. Shows what it will do and asks.
      Each step is recorded before it is taken; \`meter uninstall\` takes all of them back. Run it again after an upgrade.
    `,
    examples: [
      ["See what would be done", "meter init --apps --dry-run"],
      ["Install, and meter what is started from new shells", "meter init --apps"],
    ],
  });

  apps = Option.Boolean("--apps", false, {
    description: "lead shells and desktop sessions through the meter",
  });
  dryRun = Option.Boolean("--dry-run", false, { description: "change nothing" });
  yes = Option.Boolean("--yes", false, { description: "don't ask" });

  protected override async perform(): Promise<number> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { createRunWords, readInstallRecord } = await import("../../adapters/installer/mod.ts");
    const { labelled } = await import("../render/labelled.ts");
    const { findDaemon } = await import("../daemon-process.ts");
    const { describeStep } = await import("../../core/install/mod.ts");
    const { makeInstallPlan } = await import("../install-plan.ts");
    const { prepareHome } = await import("../home.ts");
    const { install } = await import("../install.ts");
    const { env } = this.context;
    const home = meterHome(env);
    const run = createRunWords(env);
    const earlier = await readInstallRecord(home).catch((cause: Error) => {
      throw new CommandFailure(`${cause.message}: without it nothing that was done can be undone`);
    });

    const preview = await makeInstallPlan(home, env, { apps: this.apps, make: false }, earlier, run);
    this.print(`${earlier === null ? "Installing" : "Refreshing"} the meter of ${home}:`);
    this.print("  make its folder, its certificate authority and its database, where they are missing");
    for (const { step, how } of preview.steps) {
      if (how !== "keep" && (step.kind !== "commands" || step.do.length > 0))
        this.print(`  ${describeStep(step)}`);
    }
    if (preview.machine.service === null && (await findDaemon(home)) === null)
      this.print("  start the daemon");
    for (const { says, command } of preview.notes) {
      this.print(labelled("", says, 0, this.width));
      if (command !== null) this.print(`  ${command}`);
    }
    if (this.dryRun) {
      this.print("Nothing was changed.");
      return 0;
    }
    if (!this.yes) {
      const { confirm } = await import("../confirm.ts");
      if (!(await confirm(this.context, "Do it?"))) {
        this.print("Nothing was changed.");
        return 1;
      }
    }
    prepareHome(home);
    const plan = await makeInstallPlan(home, env, { apps: this.apps, make: true }, earlier, run);
    return install(home, env, plan, earlier, run, (text) => this.print(text));
  }
}
