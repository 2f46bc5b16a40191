import { Command, Option, UsageError } from "clipanion";
import { MeterCommand } from "../meter-command.ts";

export class ProjectSetCommand extends MeterCommand {
  static override paths = [["project"]];
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
  words = Option.Rest({ name: "set body-capture on|off" });

  protected override async perform(): Promise<void> {
    const [verb, key, value] = this.words;
    if (
      verb !== "set" ||
      key !== "body-capture" ||
      (value !== "on" && value !== "off") ||
      this.words.length > 3
    ) {
      throw new UsageError("write: meter project <slug> set body-capture on|off");
    }
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { prepareHome } = await import("../home.ts");
    const { withStore } = await import("../open-store.ts");
    const { normaliseSlug } = await import("../../core/slug/mod.ts");
    const project = normaliseSlug(this.slug);
    if (project === "") throw new UsageError(`not a project name: ${JSON.stringify(this.slug)}`);
    const home = meterHome(this.context.env);
    prepareHome(home);
    await withStore(home, { readOnly: false }, async (store) => {
      store.setBodyCapture(project, value === "on", Date.now());
    });
    this.print(`Body capture is ${value} for ${project}.`);
  }
}
