import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";
import {
  costJsonOption,
  fromOption,
  sinceOption,
  toOption,
  utcOption,
} from "../../program/report-options.ts";

export class ProjectSetCommand extends MeterCommand {
  static override paths = [["project"]];
  static readonly restOfLine = "set body-capture on|off";
  static override usage = Command.Usage({
    category: "Captured bodies",
    description: "Turn body capture on or off for a project",
    details: `
      Body capture is off by default. Captured bodies are redacted and stay on this machine. A project's own
      \`.meter.toml\` can turn capture off, but not on.
    `,
    examples: [
      ["Capture the bodies of a project's requests", "meter project web set body-capture on"],
      ["Stop capturing", "meter project web set body-capture off"],
    ],
  });

  slug = Option.String({ name: "slug" });
  words = Option.Rest();

  protected override async perform(): Promise<void> {
    const { setBodyCapture } = await import("./set-body-capture.ts");
    return await setBodyCapture(this.commandContext, this);
  }
}

export class ProjectListCommand extends MeterCommand {
  static override paths = [["project", "list"]];
  static override usage = Command.Usage({
    category: "Projects",
    description: "List projects with their requests, costs and origins",
    details: `
      The origin of a project that is named after a folder is the remote of its Git repository, or the folder. It is not
      sent to a cloud.
    `,
    examples: [["List all projects", "meter project list"]],
  });

  json = costJsonOption();

  protected override async perform(): Promise<void> {
    const { listProjects } = await import("./list-projects.ts");
    return await listProjects(this.commandContext, this);
  }
}

export class ProjectReassignCommand extends MeterCommand {
  static override paths = [["project", "reassign"]];
  static readonly restOfLine = "<project> <other-project>";
  static override usage = Command.Usage({
    category: "Projects",
    description: "Move past requests to another project",
    details: `
      Future requests are not affected: use \`meter project merge\`, or set their project in \`.meter.toml\` or with
      \`X-Meter-Project\`. Requests already sent to a cloud keep their old project there. The last move or merge can be undone.
    `,
    examples: [
      ["Move all requests of a project", "meter project reassign misc web"],
      ["Move the requests of one week", "meter project reassign misc web --from 2026-11-01 --to 2026-11-07"],
      ["Undo the last move", "meter project reassign --undo"],
    ],
  });

  since = sinceOption();
  from = fromOption();
  to = toOption();
  utc = utcOption();
  dryRun = Option.Boolean("--dry-run", false, { description: "Show what would be moved, without moving it" });
  undo = Option.Boolean("--undo", false, { description: "Undo the last move" });
  projects = Option.Rest();

  protected override async perform(): Promise<void> {
    const { reassignRequests } = await import("./reassign-requests.ts");
    return await reassignRequests(this.commandContext, this);
  }
}

export class ProjectMergeCommand extends MeterCommand {
  static override paths = [["project", "merge"]];
  static readonly restOfLine = "<project> <other-project>";
  static override usage = Command.Usage({
    category: "Projects",
    description: "Merge a project into another, with its future requests",
    details: `
      Moves all requests of a project, and the future ones of programs in its folders. Requests whose project is given by
      name (\`X-Meter-Project\`, \`METER_PROJECT\`, \`.meter.toml\`, \`meter run --project\`) keep that name. Requests already
      sent to a cloud keep their old project there. Undo it with \`meter project reassign --undo\`.
    `,
    examples: [
      ["Merge two clones", "meter project merge api-other api"],
      ["Show what would be moved", "meter project merge api-other api --dry-run"],
    ],
  });

  dryRun = Option.Boolean("--dry-run", false, { description: "Show what would be moved, without moving it" });
  projects = Option.Rest();

  protected override async perform(): Promise<void> {
    const { mergeProjects } = await import("./merge-projects.ts");
    return await mergeProjects(this.commandContext, this);
  }
}
