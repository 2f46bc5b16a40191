import { Command, Option } from "clipanion";
import { BILLING_MODES } from "../../../core/values/record-fields.ts";
import { STATUS_NAMES } from "../../../daemon/store/request-status.ts";
import { MeterCommand } from "../../program/meter-command.ts";
import {
  costJsonOption,
  csvOption,
  fromOption,
  modelOption,
  projectOption,
  providerOption,
  sinceOption,
  toOption,
  utcTimesOption,
} from "../../program/report-options.ts";

export class RequestsCommand extends MeterCommand {
  static override paths = [["requests"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "List requests, the newest first",
    details: `
      All filters must match. Each id is long enough for \`meter explain\`. If there are more requests than the limit, the
      last line is the command for the next page.
    `,
    examples: [
      ["List the latest requests", "meter requests"],
      ["List the requests without a known price", "meter requests --status unpriced"],
      ["List what failed in one project today", "meter requests --status failed --project web --since today"],
      ["Export a month", "meter requests --from 2026-11-01 --to 2026-11-30 --limit 10000 --csv"],
    ],
  });

  since = sinceOption();
  from = fromOption();
  to = toOption();
  project = projectOption();
  model = modelOption();
  provider = providerOption();
  client = Option.String("--client", { description: "Only this program" });
  billing = Option.String("--billing", { description: `Only ${BILLING_MODES.join(", ")}` });
  status = Option.String("--status", { description: `Only ${STATUS_NAMES.join(", ")} or an HTTP status` });
  limit = Option.String("--limit", { description: "At most this many requests (default 30)" });
  before = Option.String("--before", { description: "The cursor of the next page" });
  utc = utcTimesOption();
  json = costJsonOption();
  csv = csvOption();

  protected override async perform(): Promise<void> {
    const { listRequests } = await import("./list-requests.ts");
    return await listRequests(this.commandContext, this);
  }
}
