import { realpathSync } from "node:fs";
import { join } from "node:path";
import { readTomlFile } from "../adapters/files/mod.ts";
import { type ResolvedConfig, resolveConfig } from "../core/config/mod.ts";
import { CommandFailure } from "./exit-codes.ts";
import { unreadable } from "./render/unreadable.ts";

export const configFile = (home: string) => join(home, "config.toml");

/** A configuration is a page or two; what is larger is something else. */
export const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * Reads and resolves `<meter_home>/config.toml`; a missing file is an empty one. A file that can't be read or is no
 * TOML is refused rather than taken for empty: it may hold what must not be uploaded.
 */
export async function readConfig(
  home: string,
  env: Readonly<Record<string, string | undefined>>,
  flags: { baseUrl?: string } = {},
): Promise<ResolvedConfig> {
  return resolveConfig(await readConfigTable(home), {
    today: new Date().toISOString().slice(0, 10),
    baseUrl: { flag: flags.baseUrl, environment: env.HALTON_METER_CLOUD_URL },
  });
}

/** The file as it was written, for what has to find a setting under the name that it has there. */
export async function readConfigTable(home: string): Promise<Readonly<Record<string, unknown>>> {
  const path = configFile(home);
  const file = await readTomlFile(behindLinks(path), { maxBytes: MAX_CONFIG_BYTES });
  if (file.ok) return file.table;
  if (file.reason === "absent") return {};
  throw new CommandFailure(
    file.reason === "not_toml"
      ? `${path} is no TOML: look at line ${file.line}`
      : unreadable(path, file.reason),
  );
}

/** People keep their configurations elsewhere and link to them; nobody else can put a link into the home. */
function behindLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
