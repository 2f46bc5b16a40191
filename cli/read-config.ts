import { join } from "node:path";
import { readTomlFile } from "../adapters/files/mod.ts";
import { type ResolvedConfig, resolveConfig } from "../core/config/mod.ts";
import { CommandFailure } from "./exit-codes.ts";

export const configFile = (home: string) => join(home, "config.toml");

/** A configuration is a page or two; what is larger is something else. */
const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * Reads and resolves `<meter_home>/config.toml`; a missing file is an empty one. A file that can't be read or is no
 * TOML is refused rather than taken for empty: it may hold what must not be uploaded.
 */
export async function readConfig(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
  flags: { baseUrl?: string } = {},
): Promise<ResolvedConfig> {
  const path = configFile(home);
  const file = await readTomlFile(path, { maxBytes: MAX_CONFIG_BYTES });
  if (!file.ok && file.reason !== "absent") {
    throw new CommandFailure(
      file.reason === "not_toml"
        ? `${path} is no TOML: look at line ${file.line}`
        : `${path} can't be read: ${file.reason.replaceAll("_", " ")}`,
    );
  }
  return resolveConfig(file.ok ? file.table : {}, {
    today: new Date().toISOString().slice(0, 10),
    baseUrl: { flag: flags.baseUrl, environment: env.HALTON_METER_CLOUD_URL },
  });
}
