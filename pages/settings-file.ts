import { formatColumns } from "./page-file.ts";
import type { SettingsAnswer } from "./views/settings.ts";

/** Converts the settings of a machine to JSON. */
export const settingsJson = ({ configFile, storeFile, storeBytes, problem, groups }: SettingsAnswer) => ({
  ...{ config_file: configFile, store_file: storeFile, store_bytes: storeBytes, problem },
  settings: groups.flatMap(({ settings }) =>
    settings.map(({ key, value, next, source, change }) => ({ key, value, next, source, change })),
  ),
});

/** Formats the settings of a machine as CSV. */
export const settingsCsv = ({ groups }: SettingsAnswer): string =>
  formatColumns(
    [
      ["key", ({ key }) => key],
      ["value", ({ value }) => value],
      ["at_next_start", ({ next }) => next],
      ["source", ({ source }) => source],
    ],
    groups.flatMap(({ settings }) => settings),
  );
