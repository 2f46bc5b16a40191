import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";
import { costJsonOption } from "../../program/report-options.ts";

export class ImportCommand extends MeterCommand {
  static override paths = [["import"]];
  static readonly restOfLine = "[agent] ...";
  static override usage = Command.Usage({
    category: "Reports",
    description: "Import past usage from the logs of agents",
    details: `
      Reads what Claude Code, Codex, Gemini CLI, opencode, Qwen Code, Copilot CLI, goose, Amp, Cline, Roo Code, Kilo Code, pi
      and Droid wrote about their own calls, and stores one record per call. Calls that passed through the proxy are not
      counted again. The logs are only read. A second import reads only what is new. The records stay on this machine.
    `,
    examples: [
      ["Show what would be imported", "meter import --dry-run"],
      ["Import from Claude Code and Codex", "meter import claude codex"],
      ["Delete what was imported from Codex", "meter import remove codex"],
    ],
  });

  agents = Option.Rest({ name: "agent" });
  since = Option.String("--since", {
    description: "Leave out what is older: 24h, 7d, today, yesterday or a date",
  });
  dryRun = Option.Boolean("--dry-run", false, {
    description: "Show what would be imported, without importing it",
  });
  json = costJsonOption();

  protected override async perform(): Promise<number> {
    const { importAgentLogs } = await import("./import-agent-logs.ts");
    return await importAgentLogs(this.commandContext, this);
  }
}

export class ImportRemoveCommand extends MeterCommand {
  static override paths = [["import", "remove"]];
  static readonly restOfLine = "[agent] ...";
  static override usage = Command.Usage({
    category: "Reports",
    description: "Delete the records that were imported from logs",
    details: `
      Deletes the imported records of these agents, or of all. Records of calls through the proxy stay, and so do the logs:
      the next \`meter import\` reads them again.
    `,
    examples: [
      ["Delete everything that was imported", "meter import remove"],
      ["Delete without asking", "meter import remove codex --yes"],
    ],
  });

  agents = Option.Rest({ name: "agent" });
  yes = Option.Boolean("--yes", false, { description: "Don't ask for confirmation" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { removeImported } = await import("./remove-imported.ts");
    return await removeImported(this.commandContext, this);
  }
}
