import { homedir } from "node:os";
import { join, resolve } from "node:path";
import * as v from "valibot";
import { readSmallFile } from "../../adapters/files/read-small-file.ts";
import { readTomlFile } from "../../adapters/files/read-toml-file.ts";
import { checkSmtpUrl } from "../../adapters/mail/create-smtp-mail.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { describeUnreadable } from "../render/unreadable.ts";
import { cloudExitCodes } from "./cloud-exit-codes.ts";
import { SETTING_NAMES, type Settings, settingsSchema, variableOf } from "./settings.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The configuration of `meter-cloud`: the settings and the secrets. */
export interface CloudProgramConfig {
  readonly settings: Settings;
  /** The folder for files that the program creates. */
  readonly home: string;
  /** Null if the embedded database in `databaseFolder` is used. */
  readonly databaseUrl: string | null;
  readonly databaseFolder: string;
  /** The folder of the keys that encrypt bodies. Processes on the same database share it. */
  readonly bodyKeysFolder: string;
  /** Null if the secret in the home is used, which is created at the first start. */
  readonly authSecret: string | null;
  readonly metricsToken: string | null;
  /** The mail server with its password; null if emails are printed to standard output. */
  readonly smtpUrl: string | null;
  /** The client secrets by provider id. Each configured provider has one. */
  readonly oidcSecrets: ReadonlyMap<string, string>;
}

/** Settings from the command line, which override the environment and the file. */
export interface CloudFlags {
  readonly config?: string | undefined;
  readonly server?: Readonly<Record<string, string | undefined>>;
}

const MAX_CONFIG_BYTES = 1024 * 1024;
const MAX_SECRET_BYTES = 16 * 1024;

/** Variables with our prefix that are not settings. */
const OTHER_VARIABLES = new Set(["METER_CLOUD_HOME", "METER_CLOUD_CONFIG"]);
const SECRETS = [
  "DATABASE_URL",
  "METER_CLOUD_AUTH_SECRET",
  "METER_CLOUD_METRICS_TOKEN",
  "METER_CLOUD_SMTP_URL",
] as const;

/** A shorter secret can be guessed. */
const MIN_SECRET_CHARACTERS = 32;

/**
 * Reads the environment and the file that `--config` or `$METER_CLOUD_CONFIG` names, by default `config.toml` in the home.
 * Throws a `CommandFailure` that lists every problem: a server must not start with settings other than those configured.
 */
export async function readCloudConfig(env: Environment, flags: CloudFlags = {}): Promise<CloudProgramConfig> {
  const home = env.METER_CLOUD_HOME ? resolve(env.METER_CLOUD_HOME) : join(homedir(), ".meter-cloud");
  const problems: string[] = [];
  const { table, locate } = await readTable(home, flags.config ?? env.METER_CLOUD_CONFIG);
  const secrets = await readSecrets(env, table, problems);
  problems.push(...unknownVariables(env, secrets));
  const parsed = v.safeParse(settingsSchema, withOverrides(table, env, flags));
  if (!parsed.success)
    problems.push(...parsed.issues.map((issue) => describeIssue(issue, env, flags, locate)));
  if (!parsed.success || problems.length > 0) throw badConfig(problems);
  const settings = parsed.output;
  const { tls_cert, tls_key } = settings.server;
  if ((tls_cert === null) !== (tls_key === null)) {
    throw badConfig([
      "server.tls_cert, server.tls_key: TLS needs both the certificate and its key. Set both or neither.",
    ]);
  }
  const smtpUrl = secrets.get("METER_CLOUD_SMTP_URL") ?? null;
  if (smtpUrl !== null && settings.mail.from === null) {
    throw badConfig(["mail.from is missing. A mail server needs the sender of its emails."]);
  }
  return {
    settings,
    home,
    databaseUrl: secrets.get("DATABASE_URL") ?? null,
    databaseFolder:
      settings.database.folder === null ? join(home, "database") : resolve(settings.database.folder),
    bodyKeysFolder:
      settings.bodies.keys_folder === null ? join(home, "body-keys") : resolve(settings.bodies.keys_folder),
    authSecret: secrets.get("METER_CLOUD_AUTH_SECRET") ?? null,
    metricsToken: secrets.get("METER_CLOUD_METRICS_TOKEN") ?? null,
    smtpUrl,
    oidcSecrets: new Map(settings.oidc.map(({ id }) => [id, secrets.get(oidcVariable(id)) ?? ""])),
  };
}

/** Creates the failure of a command because of an invalid configuration. */
export function badConfig(problems: readonly string[]): CommandFailure {
  return new CommandFailure(
    `The configuration is invalid:\n${problems.map((problem) => `  ${problem}`).join("\n")}`,
    cloudExitCodes.badConfig,
  );
}

/** The content of the configuration file, and a function that describes where a key is in it. */
interface CloudConfigFile {
  readonly table: Readonly<Record<string, unknown>>;
  locate(key: string): string | null;
}

async function readTable(home: string, stated: string | undefined): Promise<CloudConfigFile> {
  const path = stated === undefined ? join(home, "config.toml") : resolve(stated);
  const file = await readTomlFile(path, { maxBytes: MAX_CONFIG_BYTES });
  if (file.ok) {
    const { table, lineOf } = file;
    return {
      table,
      locate(key) {
        const line = lineOf(key);
        return line === null ? null : `line ${line} of ${path}`;
      },
    };
  }
  if (file.reason === "absent" && stated === undefined) return { table: {}, locate: () => null };
  throw badConfig([
    file.reason === "not_toml"
      ? `${path} is not valid TOML. Fix line ${file.line}, column ${file.column}.`
      : describeUnreadable(path, file.reason),
  ]);
}

/** Returns the file's table with the overrides of flags and environment. A section that is not a table is left for the schema to reject. */
function withOverrides(
  table: Readonly<Record<string, unknown>>,
  env: Environment,
  flags: CloudFlags,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...table };
  for (const [section, key] of SETTING_NAMES) {
    const flag = section === "server" ? flags.server?.[key] : undefined;
    const override = flag ?? env[variableOf(section, key)];
    const inFile = merged[section] ?? {};
    if (override !== undefined && typeof inFile === "object")
      merged[section] = { ...inFile, [key]: override };
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
      problems.push(`${name} is not set. The provider in [[oidc]] needs it, or ${name}_FILE.`);
  }
  const url = found.get("DATABASE_URL");
  if (url !== undefined && !/^postgres(?:ql)?:$/.test(URL.parse(url)?.protocol ?? "")) {
    problems.push(
      "DATABASE_URL is not valid. Expected: an address such as postgres://user:password@host:5432/database.",
    );
  }
  const smtpUrl = found.get("METER_CLOUD_SMTP_URL");
  const smtpProblem = smtpUrl === undefined ? null : checkSmtpUrl(smtpUrl);
  if (smtpProblem !== null) problems.push(`METER_CLOUD_SMTP_URL ${smtpProblem}.`);
  for (const name of ["METER_CLOUD_AUTH_SECRET", "METER_CLOUD_METRICS_TOKEN"]) {
    const length = found.get(name)?.length ?? MIN_SECRET_CHARACTERS;
    if (length < MIN_SECRET_CHARACTERS) {
      problems.push(`${name} has ${length} characters; it needs at least ${MIN_SECRET_CHARACTERS}.`);
    }
  }
  return found;
}

/**
 * Reads a secret from its variable, or from the file that `<variable>_FILE` names. White space around it is removed: a variable made of a
 * file, as Kubernetes makes it, ends in the file's line break. Secrets never appear in messages.
 */
async function readSecret(name: string, env: Environment, problems: string[]): Promise<string | null> {
  const [value, path] = [env[name], env[`${name}_FILE`]];
  if (value !== undefined && path !== undefined) {
    problems.push(`${name} and ${name}_FILE are both set. Unset one of them.`);
    return null;
  }
  if (path === undefined) return value?.trim() || null;
  const file = await readSmallFile(path, { maxBytes: MAX_SECRET_BYTES });
  if (file.ok) return file.text.trim();
  problems.push(`${name}_FILE: ${describeUnreadable(path, file.reason)}`);
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
    .map((name) => `${name} is not a setting. The settings are listed in docs/hosting.md.`);
}

function oidcVariable(id: string): string {
  return `METER_CLOUD_OIDC_${id.toUpperCase().replaceAll("-", "_")}_SECRET`;
}

/** Describes an invalid setting: where it is set, what is wrong, and what to fix. */
function describeIssue(
  issue: v.BaseIssue<unknown>,
  env: Environment,
  flags: CloudFlags,
  locate: CloudConfigFile["locate"],
): string {
  const keys = (issue.path ?? []).map(({ key }) => String(key));
  const [section = "", key = ""] = keys;
  const variable = variableOf(section, key);
  if (section === "server" && flags.server?.[key] !== undefined)
    return describeProblem(issue, `--${key.replaceAll("_", "-")}`);
  if (env[variable] !== undefined) return describeProblem(issue, variable);
  const place = locate(keys.join(".").replaceAll(/\.(\d+)/g, "[$1]"));
  return `${describeProblem(issue, keys.join("."))}${place === null ? "" : ` Fix ${place}.`}`;
}

function describeProblem(issue: v.BaseIssue<unknown>, place: string): string {
  if (issue.type === "strict_object") {
    return issue.expected === "never"
      ? `${place} is not a setting.${place === "database.url" ? " The address is a secret; set DATABASE_URL in the environment." : ""}`
      : `${place} ${issue.received === "undefined" ? "is missing" : "must be a table"}.`;
  }
  return `${place} ${issue.message}, but is ${issue.received}.`;
}
