import { listSettings } from "../../../core/operations/config/list-settings.ts";
import { resolveConfig } from "../../../core/operations/config/resolve-config.ts";
import type { SettingsAnswer } from "../../../pages/views/settings.ts";

/** Returns the settings of a daemon that was started with one table and whose file has another. */
export function sampleSettings(
  table: Readonly<Record<string, unknown>> = {},
  startedWith = table,
): SettingsAnswer {
  const resolve = (each: Readonly<Record<string, unknown>>) => resolveConfig(each, { today: "2026-11-28" });
  const current = resolve(table);
  const facts = {
    started: resolve(startedWith).config,
    current: current.config,
    table,
    invalid: current.warnedKeys,
    isCloudFromEnvironment: false,
  };
  return {
    ...{ configFile: "/home/ann/.meter/config.toml", storeFile: "/home/ann/.meter/meter.db" },
    ...{ storeBytes: 1_234_567, problem: null, groups: listSettings(facts) },
  };
}
