import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class EstimatesCommand extends MeterCommand {
  static override paths = [["estimates"]];
  static override usage = Command.Usage({
    category: "Prices",
    description: "Turn estimates of missing token counts on or off",
    details: `
      A provider may state no token counts, for example in a stream whose request does not ask for them. If estimates are
      on, the counts are estimated from the text. The record stays marked as incomplete, and its cost as estimated.
      Estimates apply to new requests. This sets \`[usage] estimate_missing\`.
    `,
    examples: [
      ["Estimate the counts that providers do not state", "meter estimates on"],
      ["Leave them unknown", "meter estimates off"],
    ],
  });

  value = Option.String({ name: "on|off" });

  protected override async perform(): Promise<void> {
    const { setEstimates } = await import("./set-estimates.ts");
    return await setEstimates(this.commandContext, this);
  }
}
