import { Command, Option } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";

export class CloudPrivacyShowCommand extends MeterCommand {
  static override paths = [["cloud", "privacy", "show"]];
  static override usage = Command.Usage({
    category: "Privacy",
    description: "Show which fields leave this machine",
    details: "Shows what the configuration allows. `meter cloud privacy audit` lists what was actually sent.",
    examples: [["Show the current settings", "meter cloud privacy show"]],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { showPrivacy } = await import("./show-privacy.ts");
    return await showPrivacy(this.commandContext, this);
  }
}

export class CloudPrivacySetCommand extends MeterCommand {
  static override paths = [["cloud", "privacy", "set"]];
  static override usage = Command.Usage({
    category: "Privacy",
    description: "Change which fields leave this machine",
    details: `
      Edits \`config.toml\` and keeps its comments and order. A field's own setting overrides the preset, and a project's
      setting overrides both. The change applies to what is sent from now on.
    `,
    examples: [
      ["Send only counts, cost and project", "meter cloud privacy set preset minimal"],
      ["Don't send one field", "meter cloud privacy set field.prompt_hash false"],
      [
        "Send prompt_hash as a plain SHA-256, as other tools compute it",
        "meter cloud privacy set prompt-hash-kind plain",
      ],
      ["Keep a project on this machine", "meter cloud privacy set upload false --project web"],
      ["Upload captured bodies", "meter cloud privacy set bodies.enabled true"],
      ["Don't upload the bodies of one project", "meter cloud privacy set bodies.upload false --project web"],
      ["Don't upload bodies captured before a date", "meter cloud privacy set bodies.upload-from 2026-11-01"],
    ],
  });

  key = Option.String({ name: "setting" });
  value = Option.String({ name: "value" });
  project = Option.String("--project", {
    description: "The project, for upload and bodies.upload",
  });

  protected override async perform(): Promise<void> {
    const { changePrivacy } = await import("./change-privacy.ts");
    return await changePrivacy(this.commandContext, this);
  }
}
