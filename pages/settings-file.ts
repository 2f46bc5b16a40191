import { formatColumns } from "./page-file.ts";
import type { SettingsAnswer } from "./views/settings.ts";

/** Converts the settings of a machine to JSON, with the projects that keep bodies. */
export const settingsJson = (
  { configFile, storeFile, storeBytes, problem, groups }: SettingsAnswer,
  bodyProjects: readonly string[],
) => ({
  ...{ config_file: configFile, store_file: storeFile, store_bytes: storeBytes, problem },
  settings: groups.flatMap(({ settings }) =>
    settings.map(({ key, value, next, source, change }) => ({ key, value, next, source, change })),
  ),
  body_capture_projects: bodyProjects,
});

/** Formats the settings of a machine as CSV, with a line for each project that keeps bodies. */
export const settingsCsv = ({ groups }: SettingsAnswer, bodyProjects: readonly string[]): string =>
  formatColumns(
    [
      ["key", ({ key }) => key],
      ["value", ({ value }) => value],
      ["at_next_start", ({ next }) => next],
      ["source", ({ source }) => source],
    ],
    [
      ...groups.flatMap(({ settings }) => settings),
      ...bodyProjects.map((value) => ({
        ...{ key: "body_capture_project", value, next: null, source: "meter project" },
      })),
    ],
  );
