import { Command, Option } from "clipanion";
import { DEFAULT_BODIES_STATUS_DAYS } from "../../../../core/operations/config/numbers.ts";
import { MeterCommand } from "../../../program/meter-command.ts";

export class CloudBodiesStatusCommand extends MeterCommand {
  static override paths = [["cloud", "bodies", "status"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "Show uploaded and pending bodies by day",
    details:
      "Counts the request body and the response body separately. Reads only the local database; the cloud is not contacted.",
    examples: [["Show the last week", "meter cloud bodies status --days 7"]],
  });

  days = Option.String("--days", String(DEFAULT_BODIES_STATUS_DAYS), {
    description: `Number of days, including today (default ${DEFAULT_BODIES_STATUS_DAYS})`,
  });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { showBodyUploads } = await import("./show-body-uploads.ts");
    return await showBodyUploads(this.commandContext, this);
  }
}
