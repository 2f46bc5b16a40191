import { listSettings } from "../../../core/operations/config/list-settings.ts";
import type { SettingsAnswer } from "../../../pages/views/settings.ts";
import { configFile } from "../../home/config-file.ts";
import { databaseBytes, databaseFile } from "../../home/database-file.ts";
import { readConfigWithTable } from "../../home/read-config.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import type { DaemonSetup } from "./daemon-setup.ts";

/** Creates the reader of the settings for the local page: those of the start, and of the file as it is now. */
export function createSettingsReader({
  home,
  env,
  config: started,
}: Pick<DaemonSetup, "home" | "env" | "config">): () => Promise<SettingsAnswer> {
  const isCloudFromEnvironment = Boolean(env.HALTON_METER_CLOUD_URL);
  const readFile = async () => {
    try {
      const { resolved, table } = await readConfigWithTable(home, env);
      return { current: resolved.config, table, invalid: resolved.warnedKeys, problem: null };
    } catch (cause) {
      if (!(cause instanceof CommandFailure)) throw cause;
      return { current: started, table: null, invalid: new Set<string>(), problem: cause.message };
    }
  };
  return async () => {
    const { problem, ...file } = await readFile();
    return {
      configFile: configFile(home),
      storeFile: databaseFile(home),
      storeBytes: databaseBytes(home),
      problem,
      groups: listSettings({ started, ...file, isCloudFromEnvironment }),
    };
  };
}
