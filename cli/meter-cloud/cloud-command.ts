import { Option } from "clipanion";
import type { CloudPorts } from "../../cloud/mod.ts";
import { CommandFailure } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";
import { cloudExitCodes } from "./exit-codes.ts";
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

  /** The database, brought to this version, with the accounts in it. */
  protected async withAdministration<T>(
    work: (parts: Pick<CloudPorts, "db" | "clock" | "randomBytes" | "accounts">) => Promise<T>,
  ): Promise<T> {
    const { systemClock } = await import("../../adapters/clock/mod.ts");
    const { createRandomBytes } = await import("../../adapters/crypto/mod.ts");
    const { readCloudConfig } = await import("./read-cloud-config.ts");
    const { withConfiguredDatabase } = await import("./open-cloud-database.ts");
    const { createConsoleMail, openAccounts } = await import("./open-accounts.ts");
    const { prepareDatabase } = await import("./prepare-database.ts");
    const config = await readCloudConfig(this.context.env, { config: this.config });
    const { base_url, port } = config.settings.server;
    return await withConfiguredDatabase(config, async ({ db }) => {
      if (config.settings.database.migrate) await prepareDatabase(db, () => {});
      const baseUrl = base_url ?? `http://127.0.0.1:${port}`;
      const accounts = openAccounts(config, db, baseUrl, createConsoleMail(this.context.stdout));
      return await work({ db, clock: systemClock, randomBytes: createRandomBytes(), accounts });
    });
  }

  /** An id from the command line. */
  protected async workspaceId(word: string): Promise<string> {
    const v = await import("valibot");
    if (v.is(v.pipe(v.string(), v.uuid()), word)) return word.toLowerCase();
    throw new CommandFailure(`a workspace's id is a UUID: ${word}`, cloudExitCodes.usage);
  }
}
