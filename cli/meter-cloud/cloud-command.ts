import { Option } from "clipanion";
import { CommandFailure } from "../program/exit-codes.ts";
import { MeterCommand } from "../program/meter-command.ts";
import type {
  AdministrationInput,
  AdministrationName,
  AdministrationParts,
  AdministrationResult,
} from "./administration.ts";
import { cloudExitCodes } from "./cloud-exit-codes.ts";
import type { OpenedDatabase } from "./open-cloud-database.ts";
import type { CloudProgramConfig } from "./read-cloud-config.ts";

/** The base class of all `meter-cloud` commands: reads the configuration and opens the database it names. */
export abstract class CloudCommand extends MeterCommand {
  config = Option.String("--config", {
    description: "The configuration file (default $METER_CLOUD_CONFIG or config.toml in the home)",
  });

  /**
   * Runs an administration task on the configured database. If a running server has the embedded database open, the server
   * runs it.
   */
  protected async administer<Name extends AdministrationName>(
    name: Name,
    input: AdministrationInput<Name>,
  ): Promise<AdministrationResult<Name>> {
    const { readCloudConfig } = await import("./read-cloud-config.ts");
    const { DatabaseInUse, withConfiguredDatabase } = await import("./open-cloud-database.ts");
    const { administer } = await import("./administration.ts");
    const config = await readCloudConfig(this.context.env, { config: this.config });
    try {
      return await withConfiguredDatabase(config, async (opened) =>
        administer(await this.partsFor(config, opened), name, input),
      );
    } catch (cause) {
      if (!(cause instanceof DatabaseInUse)) throw cause;
      const { requestFromServer } = await import("./control-channel.ts");
      const response = await requestFromServer(config.databaseFolder, name, input);
      if (response === null) throw cause;
      return response.result;
    }
  }

  /** Returns what administration needs of a database that this process has open. */
  protected async partsFor(config: CloudProgramConfig, opened: OpenedDatabase): Promise<AdministrationParts> {
    const { createBodyKeyFolder } = await import("../../adapters/body-keys/key-folder.ts");
    const { base_url, port } = config.settings.server;
    const { db } = opened;
    return {
      db,
      bodyKeys: createBodyKeyFolder(config.bodyKeysFolder),
      backUp: async (folder) => {
        const { writeBackup } = await import("./backup.ts");
        return await writeBackup(opened, config.databaseUrl, folder);
      },
      accounts: async () => {
        const { importWithAccounts } = await import("./cloud-packages.ts");
        const { openAccounts } = await importWithAccounts(() => import("./open-accounts.ts"));
        const { openMail } = await import("./open-mail.ts");
        const { prepareDatabase } = await import("./prepare-database.ts");
        if (config.settings.database.migrate) await prepareDatabase(db, () => {});
        const baseUrl = base_url ?? `http://127.0.0.1:${port}`;
        return openAccounts(config, db, baseUrl, await openMail(config, this.context.stdout));
      },
    };
  }

  /** Reads a workspace id from the command line. */
  protected async parseWorkspaceId(text: string): Promise<string> {
    const v = await import("valibot");
    if (v.is(v.pipe(v.string(), v.uuid()), text)) return text.toLowerCase();
    throw new CommandFailure(
      `Invalid workspace id: ${text}. Expected: a UUID.\nList the workspaces of an account: meter-cloud admin list <email>`,
      cloudExitCodes.usage,
    );
  }
}
