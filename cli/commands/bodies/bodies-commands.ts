import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class BodiesShowCommand extends MeterCommand {
  static override paths = [["bodies", "show"]];
  static override usage = Command.Usage({
    category: "Captured bodies",
    description: "Print the captured bodies of one request",
    details: `
      Bodies are captured only for projects that have body capture on, and are redacted before they are stored. The id
      is the same as for \`meter explain\`: a prefix of the request id, the provider's own id, or \`last\`.
    `,
    examples: [
      ["Print the request and the response", "meter bodies show last"],
      [
        "Save only the response, exactly as stored",
        "meter bodies show 019aa8f2 --side response > response.json",
      ],
    ],
  });

  id = Option.String({ name: "id" });
  side = Option.String("--side", { description: "Print only this body: request or response" });
  /** The earlier name of `--side`. */
  leg = Option.String("--leg", { hidden: true });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { showBodies } = await import("./show-bodies.ts");
    return await showBodies(this.commandContext, this);
  }
}

export class BodiesStatsCommand extends MeterCommand {
  static override paths = [["bodies", "stats"]];
  static override usage = Command.Usage({
    category: "Captured bodies",
    description: "Show how many bodies are stored and how large they are",
    examples: [["Show counts and sizes", "meter bodies stats"]],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { showBodyStats } = await import("./show-body-stats.ts");
    return await showBodyStats(this.commandContext, this);
  }
}

export class BodiesSweepCommand extends MeterCommand {
  static override paths = [["bodies", "sweep"]];
  static override usage = Command.Usage({
    category: "Captured bodies",
    description: "Delete captured bodies past their retention",
    details: `
      The daemon does this once a day. It waits for you if the clock may have jumped and more than half of the stored
      bodies would be deleted at once. In that case check the date; if it is correct, run this command.
    `,
    examples: [
      ["Show what would be deleted", "meter bodies sweep --dry-run"],
      ["Delete now", "meter bodies sweep"],
    ],
  });

  dryRun = Option.Boolean("--dry-run", false, {
    description: "Show what would be deleted, without deleting it",
  });

  protected override async perform(): Promise<void> {
    const { deleteExpiredBodies } = await import("./delete-expired-bodies.ts");
    return await deleteExpiredBodies(this.commandContext, this);
  }
}
