import { Command, Option, UsageError } from "clipanion";
import type { UploadFrom } from "../../../core/uploader/mod.ts";
import { MeterCommand } from "../../meter-command.ts";

export class CloudPrivacyShowCommand extends MeterCommand {
  static override paths = [["cloud", "privacy", "show"]];
  static override usage = Command.Usage({
    category: "Privacy",
    description: "what leaves this machine, field by field",
    details: "Says what the configuration means; what has left is said by `meter cloud privacy audit`.",
    examples: [["In plain words", "meter cloud privacy show"]],
  });

  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../../adapters/files/mod.ts");
    const { readConfig } = await import("../../read-config.ts");
    const { isAboutCloud } = await import("../../cloud-warnings.ts");
    const { renderPrivacy, summarisePrivacy } = await import("../../render/cloud-privacy.ts");
    const home = meterHome(this.context.env);
    const { config, warnings } = await readConfig(home, this.context.env);
    const about = warnings.filter(isAboutCloud);
    const { bodies } = config.cloud;
    const uploadFrom = bodies.enabled ? await uploadFromOf(home, bodies.uploadFrom) : bodies.uploadFrom;
    const summary = summarisePrivacy({ ...config.cloud, bodies: { ...bodies, uploadFrom } });
    if (this.json) return this.printJson({ ...summary, warnings: about });
    this.print(
      [renderPrivacy(summary, this.width), ...about.map((each) => `warning     ${each}`)].join("\n"),
    );
  }
}

/**
 * The moment that was kept when body sync was found switched on goes before what the file says. Where the database can't
 * be read, the file has the word: what is sent must be told in any case.
 */
async function uploadFromOf(home: string, configured: UploadFrom | null): Promise<UploadFrom | null> {
  const { databaseBytes } = await import("../../database-file.ts");
  const { CommandFailure } = await import("../../exit-codes.ts");
  const { withStore } = await import("../../open-store.ts");
  const { foreseeWatermark } = await import("../../../daemon/cloud/upload-watermark.ts");
  if (databaseBytes(home) === 0) return { kind: "now" };
  try {
    return await withStore(home, { readOnly: true }, async (store) => foreseeWatermark(store, configured));
  } catch (cause) {
    if (cause instanceof CommandFailure) return configured;
    throw cause;
  }
}

export class CloudPrivacySetCommand extends MeterCommand {
  static override paths = [["cloud", "privacy", "set"]];
  static override usage = Command.Usage({
    category: "Privacy",
    description: "change what leaves this machine",
    details: `
      Writes \`config.toml\` and keeps its comments and order. Overrides of fields win over the preset, rules of projects
      over both. What is sent once stays sent: this changes what comes after.
    `,
    examples: [
      ["Counts, cost and project alone", "meter cloud privacy set preset minimal"],
      ["Hold one field back", "meter cloud privacy set field.prompt_hash false"],
      ["Keep a project on this machine", "meter cloud privacy set upload false --project web"],
      ["Upload captured bodies", "meter cloud privacy set bodies.enabled true"],
      ["But not of this project", "meter cloud privacy set bodies.upload false --project web"],
      ["And none from before a date", "meter cloud privacy set bodies.upload-from 2026-11-01"],
    ],
  });

  key = Option.String({ name: "setting" });
  value = Option.String({ name: "value" });
  project = Option.String("--project", {
    description: "the project that upload or bodies.upload is set for",
  });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../../adapters/files/mod.ts");
    const { reloadDaemon } = await import("../../cloud-control.ts");
    const { editConfig } = await import("../../edit-config.ts");
    const { prepareHome } = await import("../../home.ts");
    const { readPrivacyChange } = await import("../../privacy-change.ts");
    const { readConfig, readConfigTable } = await import("../../read-config.ts");
    const home = meterHome(this.context.env);
    const { config } = await readConfig(home, this.context.env);
    const read = readPrivacyChange(this, {
      table: await readConfigTable(home),
      bodiesEnabled: config.cloud.bodies.enabled,
      now: Date.now(),
    });
    if (!read.ok) throw new UsageError(read.problem);
    const { uploadFrom, changes } = read;
    if (uploadFrom === undefined) await editConfig(home, changes);
    else {
      const { withStore } = await import("../../open-store.ts");
      const { announceStamp, keepCommanded } = await import("../../../daemon/cloud/upload-watermark.ts");
      prepareHome(home);
      await withStore(home, { readOnly: false, create: true }, async (store) => {
        // Before the file says it: a daemon may look at any moment.
        announceStamp(store, uploadFrom);
        await editConfig(home, changes);
        // Only afterwards: until then the file may say a date that the kept moment stands in for.
        keepCommanded(store, uploadFrom);
      });
    }
    await reloadDaemon(home);
    this.print(read.told);
  }
}
