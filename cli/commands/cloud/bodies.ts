import { Command, Option, UsageError } from "clipanion";
import { DEFAULT_BODIES_STATUS_DAYS } from "../../../core/config/numbers.ts";
import { MeterCommand } from "../../meter-command.ts";

const MOST_DAYS = 3650;

export class CloudBodiesStatusCommand extends MeterCommand {
  static override paths = [["cloud", "bodies", "status"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "how many captured bodies are uploaded and how many wait, day by day",
    details: "Counts each direction of a request by itself. Asks the local database alone, never the cloud.",
    examples: [["The last week", "meter cloud bodies status --days 7"]],
  });

  days = Option.String("--days", String(DEFAULT_BODIES_STATUS_DAYS), {
    description: `how many days, today included; ${DEFAULT_BODIES_STATUS_DAYS} if left out`,
  });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const days = /^\d{1,4}$/.test(this.days) ? Number(this.days) : 0;
    if (days < 1 || days > MOST_DAYS) throw new UsageError(`--days takes 1 to ${MOST_DAYS}: ${this.days}`);
    const { meterHome } = await import("../../../adapters/files/mod.ts");
    const { withStore } = await import("../../open-store.ts");
    const { renderBodyDays } = await import("../../render/cloud-bodies.ts");
    const today = new Date();
    const from = new Date(today.getFullYear(), today.getMonth(), today.getDate() - days + 1);
    await withStore(meterHome(this.context.env), { readOnly: true }, async (store) => {
      const rows = store.bodyDays(from.getTime());
      const sum = (of: "uploaded" | "pending") => rows.reduce((total, row) => total + row[of], 0);
      const status = { days, rows, uploaded: sum("uploaded"), pending: sum("pending") };
      if (this.json) this.printJson(status);
      else this.print(renderBodyDays(status, this.width));
    });
  }
}
