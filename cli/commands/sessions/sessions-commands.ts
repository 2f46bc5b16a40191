import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";
import {
  costJsonOption,
  csvOption,
  fromOption,
  sinceOption,
  toOption,
  utcTimesOption,
} from "../../program/report-options.ts";

export class SessionsCommand extends MeterCommand {
  static override paths = [["sessions"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "List sessions with their cost, by default the latest first",
    details: `
      A session is a conversation with an agent, as the agent names it. Calls of programs that name none are grouped by process,
      with a new session after a pause of 30 minutes; these are marked with ~. A session that has a call in the period is listed
      with all of its calls. Project and branch are those of its latest call.
    `,
    examples: [
      ["List the latest sessions", "meter sessions"],
      ["List today's sessions of one project", "meter sessions --since today --project web"],
      ["List the sessions that cost most in a week", "meter sessions --since 7d --sort cost"],
      [
        "List those with failed calls that cost 1 USD or more",
        "meter sessions --filter status=failed --min-cost 1",
      ],
    ],
  });

  since = sinceOption();
  from = fromOption();
  to = toOption();
  project = Option.String("--project", { description: "Only sessions with calls of this project" });
  filter = Option.Array("--filter", {
    description:
      "Only sessions with calls of this value, as the dashboard's addresses have it: branch=main, model.not=gpt-5. May repeat",
  });
  minCost = Option.String("--min-cost", {
    description: "Only sessions that spent, or used of a plan, at least this many USD in the period",
  });
  sort = Option.String("--sort", {
    description: "Which sessions come first: latest (default), cost, calls or length, counted in the period",
  });
  limit = Option.String("--limit", { description: "At most this many sessions (default 20)" });
  utc = utcTimesOption();
  json = costJsonOption();
  csv = csvOption();

  protected override async perform(): Promise<void> {
    const { listSessions } = await import("./list-sessions.ts");
    return await listSessions(this.commandContext, this);
  }
}

export class SessionCommand extends MeterCommand {
  static override paths = [["session"]];
  static override usage = Command.Usage({
    category: "Reports",
    description: "Show one session: its agents and each of their calls",
    details: `
      The id is a session's id or the beginning of one, or \`last\` for the session with the latest call. \`input\` is the whole
      context of a call, \`cached\` the share of it that was read from a cache. \`wait\` is the time to the first byte of the
      response, \`stream\` the time from there to its end. A context that shrinks to less than half was compacted.
    `,
    examples: [
      ["Show the latest session", "meter session last"],
      ["Show only its agents", "meter session last --agents"],
    ],
  });

  id = Option.String({ name: "id" });
  agents = Option.Boolean("--agents", false, { description: "Show the agents without their calls" });
  utc = utcTimesOption();
  json = costJsonOption();
  csv = csvOption();

  protected override async perform(): Promise<void> {
    const { showSession } = await import("./show-session.ts");
    return await showSession(this.commandContext, this);
  }
}
