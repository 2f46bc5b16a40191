import { Option } from "clipanion";
import { MeterCommand } from "../meter-command.ts";
import type { OpenedDatabase } from "./open-cloud-database.ts";

/** What all commands of `meter-cloud` share: the configuration, and the database that it names. */
export abstract class CloudCommand extends MeterCommand {
  config = Option.String("--config", {
    description: "the configuration file, instead of $METER_CLOUD_CONFIG or config.toml in the home",
  });

  protected async withDatabase<T>(work: (opened: OpenedDatabase) => Promise<T>): Promise<T> {
    const { readCloudConfig } = await import("./read-cloud-config.ts");
    const { withConfiguredDatabase } = await import("./open-cloud-database.ts");
    return await withConfiguredDatabase(
      await readCloudConfig(this.context.env, { config: this.config }),
      work,
    );
  }
}
