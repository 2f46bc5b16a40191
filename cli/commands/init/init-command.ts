import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class InitCommand extends MeterCommand {
  static override paths = [["init"]];
  static override usage = Command.Usage({
    category: "Installing",
    description: "Install meter as a service and trust its certificates",
    details: `
      Creates the home and the certificate authority, installs a service that runs the daemon from login, and trusts the
      authority for this user. With \`--apps\`, new shells and desktop sessions use the proxy. Shows the plan and asks
      before it changes anything. Each step is recorded before it runs, and \`meter uninstall\` undoes all of them. Run
      init again after an upgrade.
    `,
    examples: [
      ["Show what would be done", "meter init --apps --dry-run"],
      ["Install, and meter everything started from new shells", "meter init --apps"],
    ],
  });

  apps = Option.Boolean("--apps", false, {
    description: "Send the traffic of new shells and desktop sessions through the proxy",
  });
  statusline = Option.Boolean("--statusline", false, {
    description: "Show meter's status line in Claude Code",
  });
  removeStatusline = Option.Boolean("--remove-statusline", false, {
    description: "Only remove the status line from Claude Code's settings",
  });
  import = Option.Boolean("--import", {
    description:
      "Import past usage from the logs of agents; --no-import: don't ask (asked at the first init)",
  });
  dryRun = Option.Boolean("--dry-run", false, { description: "Show the plan without changing anything" });
  yes = Option.Boolean("--yes", false, { description: "Don't ask for confirmation" });

  protected override async perform(): Promise<number> {
    const { installMeter } = await import("./install-meter.ts");
    return await installMeter(this.commandContext, this);
  }
}
