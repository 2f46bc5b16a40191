import { Command, Option, UsageError } from "clipanion";
import { CommandFailure, exitCodes } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";

const legs = ["request", "response"] as const;

export class BodiesShowCommand extends MeterCommand {
  static override paths = [["bodies", "show"]];
  static override usage = Command.Usage({
    category: "Captured bodies",
    description: "print what was captured of one request",
    details: `
      Bodies are captured only for projects that have it on, and redacted before they are stored. The id is what
      \`meter explain\` takes: cut short, the provider's own, or \`last\`.
    `,
    examples: [
      ["Both directions", "meter bodies show last"],
      ["The answer alone, as it is stored", "meter bodies show 019aa8f2 --leg response > answer.json"],
    ],
  });

  id = Option.String({ name: "id" });
  leg = Option.String("--leg", { description: "request or response: prints that text and nothing else" });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { withStore } = await import("../open-store.ts");
    const { forPrograms } = await import("../render/for-programs.ts");
    const { findRequest } = await import("../find-request.ts");
    const { printable } = await import("../render/printable.ts");
    if (this.leg !== undefined && !legs.includes(this.leg as (typeof legs)[number])) {
      throw new UsageError(`--leg takes request or response: ${this.leg}`);
    }
    await withStore(meterHome(this.context.env), { readOnly: true }, async (store) => {
      const { requestId } = await findRequest(store, this.id);
      const bodies = store
        .readBodies(requestId)
        .filter(({ direction }) => this.leg === undefined || direction === this.leg)
        .map(({ content, ...body }) => ({ ...body, text: new TextDecoder().decode(content) }));
      if (bodies.length === 0)
        throw new CommandFailure("no body of this request was captured", exitCodes.notFound);
      if (this.json) return this.printJson(forPrograms(bodies));
      if (this.leg !== undefined) return void this.context.stdout.write(bodies[0]?.text ?? "");
      for (const body of bodies) {
        const notes = [
          body.contentType ?? "no content type",
          `${body.originalSizeBytes} bytes`,
          ...(body.truncated ? ["cut"] : []),
          ...(body.redactionApplied ? [`redacted: ${body.redactionSummary.join(", ")}`] : []),
        ];
        this.print(printable(`── ${body.direction} (${notes.join("; ")})`));
        this.printAsIs(body.text);
      }
    });
  }
}

export class BodiesStatsCommand extends MeterCommand {
  static override paths = [["bodies", "stats"]];
  static override usage = Command.Usage({
    category: "Captured bodies",
    description: "how much is captured",
    examples: [["Numbers and sizes", "meter bodies stats"]],
  });

  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { withStore } = await import("../open-store.ts");
    const { bytesInWords } = await import("../render/bytes-in-words.ts");
    const { forPrograms } = await import("../render/for-programs.ts");
    await withStore(meterHome(this.context.env), { readOnly: true }, async (store) => {
      const stats = store.bodyStats();
      const capturing = store.listProjectSettings().filter(({ bodyCapture }) => bodyCapture === true);
      const projects = capturing.map(({ project }) => project);
      if (this.json) return this.printJson(forPrograms({ ...stats, projects }));
      const day = (at: number | null) => (at === null ? "–" : new Date(at).toISOString().slice(0, 10));
      this.print(
        [
          `bodies      ${stats.bodies}, of ${stats.requests} ${stats.requests === 1 ? "request" : "requests"}, ${bytesInWords(stats.sizeBytes)}`,
          `redacted    ${stats.redacted}`,
          `cut         ${stats.truncated}`,
          `not sent    ${stats.pending}`,
          `captured    ${day(stats.oldestAt)} to ${day(stats.newestAt)} (UTC)`,
          `capture on  ${projects.length === 0 ? "no project" : projects.join(", ")}`,
        ].join("\n"),
      );
    });
  }
}

export class BodiesSweepCommand extends MeterCommand {
  static override paths = [["bodies", "sweep"]];
  static override usage = Command.Usage({
    category: "Captured bodies",
    description: "delete the bodies past their retention now",
    details: `
      The daemon does so daily. It holds back where more than half of what is stored would go at once and its clock may
      have jumped: then look at the date, and if it is right, sweep by hand.
    `,
    examples: [
      ["What would go", "meter bodies sweep --dry-run"],
      ["Delete it", "meter bodies sweep"],
    ],
  });

  dryRun = Option.Boolean("--dry-run", false, { description: "delete nothing" });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { withStore } = await import("../open-store.ts");
    const { readConfig } = await import("../read-config.ts");
    const { sweepBefore } = await import("../../core/retention/mod.ts");
    const { sweepBodies } = await import("../../daemon/body-sweep.ts");
    const home = meterHome(this.context.env);
    const { retentionDays } = (await readConfig(home, this.context.env)).config.bodies;
    await withStore(home, { readOnly: this.dryRun }, async (store) => {
      const now = Date.now();
      const legs = (n: number) => `${n} ${n === 1 ? "body" : "bodies"} older than ${retentionDays} days`;
      if (this.dryRun)
        return this.print(`Would delete ${legs(store.countBodies(sweepBefore(now, retentionDays)))}.`);
      this.print(
        `Deleted ${legs(await sweepBodies({ store, retentionDays, atTurnEnd: setImmediate }, now))}.`,
      );
    });
  }
}
