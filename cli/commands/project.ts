import { Command, Option, UsageError } from "clipanion";
import { MeterCommand } from "../meter-command.ts";

export class ProjectSetCommand extends MeterCommand {
  static override paths = [["project"]];
  static readonly restOfLine = "set body-capture on|off";
  static override usage = Command.Usage({
    category: "Captured bodies",
    description: "switch the capture of bodies on or off for a project",
    details: `
      Off is the default. What is captured stays on this machine, redacted. A project's own \`.meter.toml\` may switch
      capture off, never on.
    `,
    examples: [
      ["Keep the bodies of a project's calls", "meter project web set body-capture on"],
      ["Stop keeping them", "meter project web set body-capture off"],
    ],
  });

  slug = Option.String({ name: "slug" });
  words = Option.Rest();

  protected override async perform(): Promise<void> {
    const [verb, key, value] = this.words;
    if (
      verb !== "set" ||
      key !== "body-capture" ||
      (value !== "on" && value !== "off") ||
      this.words.length > 3
    ) {
      throw new UsageError("not understood; this is how it is written");
    }
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { prepareHome } = await import("../home.ts");
    const { withStore } = await import("../open-store.ts");
    const { normaliseSlug } = await import("../../core/slug/mod.ts");
    const project = normaliseSlug(this.slug);
    if (project === "") throw new UsageError(`not a project name: ${JSON.stringify(this.slug)}`);
    const home = meterHome(this.context.env);
    prepareHome(home);
    await withStore(home, { readOnly: false, create: true }, async (store) => {
      store.setBodyCapture(project, value === "on", Date.now());
    });
    this.print(`Body capture is ${value} for ${project}.`);
  }
}

export class ProjectListCommand extends MeterCommand {
  static override paths = [["project", "list"]];
  static override usage = Command.Usage({
    category: "Projects",
    description: "the projects, with what they cost",
    examples: [["All of them", "meter project list"]],
  });

  json = Option.Boolean("--json", false, {
    description: "for programs; money in pico-USD as decimal strings",
  });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { withStore } = await import("../open-store.ts");
    const { count } = await import("../render/count.ts");
    const { fixedUsd } = await import("../render/report.ts");
    const { renderTable } = await import("../render/table.ts");
    await withStore(meterHome(this.context.env), { readOnly: true }, async (store) => {
      const rows = await store.report({ by: "project", from: null, to: null });
      const set = new Map(store.listProjectSettings().map((each) => [each.project, each.bodyCapture]));
      const used = rows.map(({ key, requests, unpriced, costPicoUsd }) => ({
        project: key ?? "",
        requests,
        unpriced,
        cost_pico_usd: costPicoUsd,
        body_capture: set.get(key ?? "") ?? null,
      }));
      const known = new Set(used.map(({ project }) => project));
      const unused = [...set]
        .filter(([project]) => !known.has(project))
        .map(([project, body_capture]) => ({
          ...{ project, requests: 0, unpriced: 0, cost_pico_usd: 0n },
          body_capture,
        }));
      const all = [...used, ...unused];
      if (this.json) return this.printJson(all);
      if (all.length === 0) return this.print("No projects yet.");
      const right = "right" as const;
      this.print(
        renderTable(
          [
            { title: "project", shrink: true },
            { title: "requests", align: right },
            { title: "cost", align: right },
            { title: "unpriced", align: right },
            { title: "bodies" },
          ],
          all.map(({ project, requests, unpriced, cost_pico_usd, body_capture }) => [
            project,
            count(requests),
            requests > 0 && requests === unpriced ? "unpriced" : fixedUsd(cost_pico_usd),
            count(unpriced),
            body_capture === true ? "captured" : "–",
          ]),
          this.width,
        ),
      );
    });
  }
}

export class ProjectReassignCommand extends MeterCommand {
  static override paths = [["project", "reassign"]];
  static readonly restOfLine = "<project> <other-project>";
  static override usage = Command.Usage({
    category: "Projects",
    description: "move past requests to another project",
    details: `
      Later requests are not affected: say in \`.meter.toml\` or with \`X-Meter-Project\` whose they are. What a cloud has
      already keeps its old name there. The last move can be taken back.
    `,
    examples: [
      ["Everything of one project", "meter project reassign misc web"],
      [
        "What happened in a span of time",
        "meter project reassign misc web --from 2026-11-01 --to 2026-11-07",
      ],
      ["Take the last move back", "meter project reassign --undo"],
    ],
  });

  since = Option.String("--since", {
    description: "a length of time (24h, 7d), today, yesterday, or a date",
  });
  from = Option.String("--from", { description: "the first day, or an instant (ISO 8601)" });
  to = Option.String("--to", { description: "the last day, or the instant before which it ends" });
  utc = Option.Boolean("--utc", false, { description: "days in UTC" });
  dryRun = Option.Boolean("--dry-run", false, { description: "move nothing" });
  undo = Option.Boolean("--undo", false, { description: "take the last move back" });
  projects = Option.Rest();

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { withStore } = await import("../open-store.ts");
    const { readPeriod } = await import("../period.ts");
    const { normaliseSlug } = await import("../../core/slug/mod.ts");
    const { CommandFailure, exitCodes } = await import("../exit-codes.ts");
    const [fromProject, given, ...more] = this.projects;
    const how = { readOnly: this.dryRun };
    const { count, counted } = await import("../render/count.ts");
    const requests = (n: number) => counted(n, "request");
    if (this.undo) {
      if (fromProject !== undefined) throw new UsageError("--undo takes no projects");
      return await withStore(meterHome(this.context.env), how, async (store) => {
        const last = store.lastReassignment();
        if (last === null) throw new CommandFailure("there is no move to take back", exitCodes.notFound);
        if (!this.dryRun) store.undoReassignment();
        this.print(`${this.dryRun ? "Would move" : "Moved"} ${requests(last.requests)} back.`);
      });
    }
    if (fromProject === undefined || given === undefined || more.length > 0)
      throw new UsageError("two projects are needed: whose requests move, and where to");
    const toProject = normaliseSlug(given);
    if (toProject === "") throw new UsageError(`not a project name: ${JSON.stringify(given)}`);
    if (toProject === fromProject) throw new UsageError("both are the same project");
    const move = { fromProject, toProject, period: readPeriod(this, Date.now(), this.utc) };
    await withStore(meterHome(this.context.env), how, async (store) => {
      const moved = this.dryRun ? store.countReassignment(move) : store.reassign(move, Date.now());
      if (moved.requests === 0)
        throw new CommandFailure(`there are no such requests of ${fromProject}`, exitCodes.notFound);
      this.print(`${this.dryRun ? "Would move" : "Moved"} ${requests(moved.requests)} to ${toProject}.`);
      if (moved.synced > 0)
        this.print(
          moved.synced === 1
            ? "1 of them is in the cloud under its old name, and keeps it there."
            : `${count(moved.synced)} of them are in the cloud under their old name, and keep it there.`,
        );
      if (!this.dryRun) this.print("meter project reassign --undo takes it back.");
    });
  }
}
