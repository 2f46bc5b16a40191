import { homedir } from "node:os";
import { join, resolve } from "node:path";
import * as v from "valibot";
import { readSmallFile, readTomlFile } from "../../adapters/files/mod.ts";
import { CommandFailure } from "../exit-codes.ts";
import { unreadable } from "../render/unreadable.ts";
import { cloudExitCodes } from "./exit-codes.ts";
import { SETTING_NAMES, type Settings, settingsSchema, variableOf } from "./settings.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** All that the program is told. */
export interface CloudProgramConfig {
  readonly settings: Settings;
  /** Where the program keeps what it makes itself. */
  readonly home: string;
  /** Null: the embedded database in `databaseFolder`. */
  readonly databaseUrl: string | null;
  readonly databaseFolder: string;
  /** Null: made at the first start and kept in the home. */
  readonly authSecret: string | null;
  readonly metricsToken: string | null;
  /** By the provider's id; a provider without one is refused. */
  readonly oidcSecrets: ReadonlyMap<string, string>;
}

/** What the command line says; it wins over environment and file. */
export interface CloudFlags {
  readonly config?: string | undefined;
  readonly server?: Readonly<Record<string, string | undefined>>;
}

/** A configuration is a page or two, a secret a line. */
const MAX_CONFIG_BYTES = 1024 * 1024;
const MAX_SECRET_BYTES = 16 * 1024;

/** Variables of ours that are no settings. */
const OTHER_VARIABLES = new Set(["METER_CLOUD_HOME", "METER_CLOUD_CONFIG"]);
const SECRETS = ["DATABASE_URL", "METER_CLOUD_AUTH_SECRET", "METER_CLOUD_METRICS_TOKEN"] as const;

/** A shorter secret can be guessed. */
const MIN_SECRET_CHARACTERS = 32;

/**
 * Reads `$METER_CLOUD_CONFIG` (or `--config`), else `config.toml` in the home if there is one, and the environment. Throws a
 * `CommandFailure` that names all that is wrong: a server that runs otherwise than it was told is worse than none.
 */
export async function readCloudConfig(env: Environment, flags: CloudFlags = {}): Promise<CloudProgramConfig> {
  const home = env.METER_CLOUD_HOME ? resolve(env.METER_CLOUD_HOME) : join(homedir(), ".meter-cloud");
  const problems: string[] = [];
  const table = await readTable(home, flags.config ?? env.METER_CLOUD_CONFIG);
  const secrets = await readSecrets(env, table, problems);
  problems.push(...unknownVariables(env, secrets));
  const parsed = v.safeParse(settingsSchema, withOverrides(table, env, flags));
  if (!parsed.success) problems.push(...parsed.issues.map((issue) => explain(issue, env)));
  if (!parsed.success || problems.length > 0) throw badConfig(problems);
  const settings = parsed.output;
  const { tls_cert, tls_key } = settings.server;
  if ((tls_cert === null) !== (tls_key === null)) {
    throw badConfig(["server.tls_cert, server.tls_key: TLS needs both, the certificate and its key"]);
  }
  return {
    settings,
    home,
    databaseUrl: secrets.get("DATABASE_URL") ?? null,
    databaseFolder:
      settings.database.folder === null ? join(home, "database") : resolve(settings.database.folder),
    authSecret: secrets.get("METER_CLOUD_AUTH_SECRET") ?? null,
    metricsToken: secrets.get("METER_CLOUD_METRICS_TOKEN") ?? null,
    oidcSecrets: new Map(settings.oidc.map(({ id }) => [id, secrets.get(oidcVariable(id)) ?? ""])),
  };
}

/** A failure of the configuration. */
export function badConfig(problems: readonly string[]): CommandFailure {
  return new CommandFailure(
    `the configuration is wrong:\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
    cloudExitCodes.badConfig,
  );
}

async function readTable(home: string, stated: string | undefined): Promise<Record<string, unknown>> {
  const path = stated === undefined ? join(home, "config.toml") : resolve(stated);
  const file = await readTomlFile(path, { maxBytes: MAX_CONFIG_BYTES });
  if (file.ok) return { ...file.table };
  if (file.reason === "absent" && stated === undefined) return {};
  throw badConfig([
    file.reason === "not_toml"
      ? `${path} is no TOML: look at line ${file.line}`
      : unreadable(path, file.reason),
  ]);
}

/** The file's table with what flags and environment say instead; what is no table is left for the schema to refuse. */
function withOverrides(
  table: Readonly<Record<string, unknown>>,
  env: Environment,
  flags: CloudFlags,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...table };
  for (const [section, key] of SETTING_NAMES) {
    const flag = section === "server" ? flags.server?.[key] : undefined;
    const said = flag ?? env[variableOf(section, key)];
    const inFile = merged[section] ?? {};
    if (said !== undefined && typeof inFile === "object") merged[section] = { ...inFile, [key]: said };
  }
  return merged;
}

async function readSecrets(
  env: Environment,
  table: Readonly<Record<string, unknown>>,
  problems: string[],
): Promise<Map<string, string>> {
  const providers = Array.isArray(table.oidc) ? table.oidc : [];
  const oidc = providers.flatMap((provider) =>
    typeof provider?.id === "string" ? [oidcVariable(provider.id)] : [],
  );
  const found = new Map<string, string>();
  for (const name of [...SECRETS, ...oidc]) {
    const secret = await readSecret(name, env, problems);
    if (secret !== null) found.set(name, secret);
    else if (oidc.includes(name))
      problems.push(`${name} or ${name}_FILE is needed for the provider in [[oidc]]`);
  }
  const url = found.get("DATABASE_URL");
  if (url !== undefined && !/^postgres(?:ql)?:$/.test(URL.parse(url)?.protocol ?? "")) {
    problems.push("DATABASE_URL must be an address such as postgres://user:password@host:5432/database");
  }
  for (const name of ["METER_CLOUD_AUTH_SECRET", "METER_CLOUD_METRICS_TOKEN"]) {
    const length = found.get(name)?.length ?? MIN_SECRET_CHARACTERS;
    if (length < MIN_SECRET_CHARACTERS) {
      problems.push(`${name} must have at least ${MIN_SECRET_CHARACTERS} characters, and has ${length}`);
    }
  }
  return found;
}

/** A secret from its variable, or from the file that `<variable>_FILE` names; never said in a message. */
async function readSecret(name: string, env: Environment, problems: string[]): Promise<string | null> {
  const [said, path] = [env[name], env[`${name}_FILE`]];
  if (said !== undefined && path !== undefined) {
    problems.push(`${name} and ${name}_FILE are both set: only one can count`);
    return null;
  }
  if (path === undefined) return said === undefined || said === "" ? null : said;
  const file = await readSmallFile(path, { maxBytes: MAX_SECRET_BYTES });
  if (file.ok) return file.text.trim();
  problems.push(`${name}_FILE: ${unreadable(path, file.reason)}`);
  return null;
}

function unknownVariables(env: Environment, secrets: ReadonlyMap<string, string>): string[] {
  const known = new Set([
    ...OTHER_VARIABLES,
    ...SETTING_NAMES.map(([section, key]) => variableOf(section, key)),
  ]);
  for (const name of [...SECRETS, ...secrets.keys()]) known.add(name).add(`${name}_FILE`);
  return Object.keys(env)
    .filter((name) => name.startsWith("METER_CLOUD_") && !known.has(name))
    .map((name) => `${name} is not a setting`);
}

function oidcVariable(id: string): string {
  return `METER_CLOUD_OIDC_${id.toUpperCase().replaceAll("-", "_")}_SECRET`;
}

function explain(issue: v.BaseIssue<unknown>, env: Environment): string {
  const keys = (issue.path ?? []).map(({ key }) => String(key));
  const [section = "", key = ""] = keys;
  const variable = variableOf(section, key);
  const place = env[variable] === undefined ? keys.join(".") : variable;
  if (issue.type === "strict_object") {
    return issue.expected === "never"
      ? `${place} is not a setting${section === "database" && key === "url" ? ": the address is a secret and comes by DATABASE_URL" : ""}`
      : `${place}: ${issue.received === "undefined" ? "is missing" : "must be a table"}`;
  }
  return `${place}: ${issue.message}, and is ${issue.received}`;
}
