import { realpathSync } from "node:fs";
import { readTomlFile, type TomlFile } from "../../adapters/files/read-toml-file.ts";
import type { ResolvedConfig } from "../../core/operations/config/config.ts";
import { resolveConfig } from "../../core/operations/config/resolve-config.ts";
import { localZone } from "../../daemon/store/days.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { describeUnreadable } from "../render/unreadable.ts";
import { configFile } from "./config-file.ts";
import { hostInUrl } from "./host-in-url.ts";

export const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * Reads and resolves `<meter_home>/config.toml`; a missing file counts as empty. Throws if the file can't be read or is not
 * TOML: treating it as empty would ignore settings that keep data on this machine.
 */
export async function readConfig(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
  flags: { baseUrl?: string } = {},
): Promise<ResolvedConfig> {
  return (await readConfigWithTable(home, env, flags)).resolved;
}

/** Reads the file once: resolved, and with the settings under the names that they have in it. */
export async function readConfigWithTable(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
  flags: { baseUrl?: string } = {},
): Promise<{ readonly resolved: ResolvedConfig; readonly table: ConfigFile["table"] }> {
  const path = configFile(home);
  const { table, lineOf } = await readConfigFile(path);
  const baseUrl = { flag: flags.baseUrl, environment: env.HALTON_METER_CLOUD_URL };
  const resolved = resolveConfig(table, {
    today: new Date().toISOString().slice(0, 10),
    baseUrl,
    // Only where a budget needs it: the first use of `Intl.DateTimeFormat` takes 12 ms.
    zone: localZone,
    hostInUrl,
    locate(key) {
      const isFromElsewhere = key === "cloud.base_url" && Boolean(baseUrl.flag || baseUrl.environment);
      const line = isFromElsewhere ? null : lineOf(key);
      return line === null ? null : `line ${line} of ${path}`;
    },
  });
  return { resolved, table };
}

/**
 * Reads the configuration for a command that must work with an invalid file: returns the defaults then, with the `problem`,
 * which is null otherwise.
 */
export async function readConfigOrDefaults(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ResolvedConfig & { readonly problem: string | null }> {
  try {
    return { ...(await readConfig(home, env)), problem: null };
  } catch (cause) {
    if (!(cause instanceof CommandFailure)) throw cause;
    const today = new Date().toISOString().slice(0, 10);
    return { ...resolveConfig({}, { today, baseUrl: {} }), problem: cause.message };
  }
}

/** Reads the file without resolving it, for callers that need a setting under the name it has in the file. */
export async function readConfigTable(home: string): Promise<Readonly<Record<string, unknown>>> {
  return (await readConfigFile(configFile(home))).table;
}

type ConfigFile = Omit<Extract<TomlFile, { readonly ok: true }>, "ok">;

async function readConfigFile(path: string): Promise<ConfigFile> {
  const file = await readTomlFile(resolveLinks(path), { maxBytes: MAX_CONFIG_BYTES });
  if (file.ok) return file;
  if (file.reason === "absent") return { table: {}, lineOf: () => null };
  throw new CommandFailure(
    file.reason === "not_toml"
      ? `${path} is not valid TOML. Fix line ${file.line}, column ${file.column}.`
      : describeUnreadable(path, file.reason),
  );
}

/** Resolves symbolic links. They are allowed because many people link to a configuration kept elsewhere, and only this user can create links in the home. */
function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
