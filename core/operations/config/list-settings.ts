import { formatCount } from "../../values/text/format-count.ts";
import { formatQuantity } from "../../values/text/format-quantity.ts";
import type { Config } from "./config.ts";

/** One setting of a machine. It has no secret: of those, only whether they are set is known. */
export interface Setting {
  /** Its key in `config.toml`. */
  readonly key: string;
  readonly name: string;
  /** The value that the running daemon uses. */
  readonly value: string;
  /** The value of `config.toml` that applies at the next start; null if it is the same. */
  readonly next: string | null;
  /** Where the value comes from. It is unknown while the file can't be read. An invalid value is replaced by another. */
  readonly source: "default" | "config.toml" | "invalid in config.toml" | "environment" | "unknown";
  /** The command that changes it, or the lines of `config.toml`. */
  readonly change: string;
}

/** Settings of one topic. */
export interface SettingGroup {
  readonly title: string;
  readonly settings: readonly Setting[];
}

/** What is known about the settings of a running daemon. */
export interface SettingFacts {
  /** The configuration that the daemon was started with. */
  readonly started: Config;
  /** The configuration in the file now, or `started` if the file can't be read. */
  readonly current: Config;
  /** The content of the file. Null: it can't be read. */
  readonly table: Readonly<Record<string, unknown>> | null;
  /** The dotted keys whose values in the file are invalid. */
  readonly invalid: ReadonlySet<string>;
  /** Whether an environment variable sets the address of the cloud. */
  readonly isCloudFromEnvironment: boolean;
}

interface SettingSpec {
  readonly key: string;
  readonly name: string;
  readonly read: (config: Config) => string;
  readonly change: string;
  /** Whether a change applies at once. Default: at the next start. */
  readonly isLive?: true;
}

const onOff = (isOn: boolean): string => (isOn ? "on" : "off");
const orNone = (names: readonly string[]): string => (names.length === 0 ? "none" : names.join(", "));
const isSet = (value: unknown): string => (value === null ? "not set" : "set");
const lines = (table: string, line: string): string => `[${table}]\n${line}`;
/** The projects with a value in a table. */
const projectsWith = (table: Readonly<Record<string, boolean>>, value: boolean): string =>
  orNone(Object.keys(table).filter((project) => table[project] === value));

const GROUPS: Readonly<Record<string, readonly SettingSpec[]>> = {
  Proxy: [
    {
      key: "proxy.host",
      name: "Address",
      read: ({ proxy }) => proxy.host,
      change: lines("proxy", 'host = "127.0.0.1"'),
    },
    {
      key: "proxy.port",
      name: "Port",
      read: ({ proxy }) => `${proxy.port || "any free port"}`,
      change: lines("proxy", "port = 8081"),
    },
    {
      key: "proxy.parent",
      name: "Upstream proxy",
      read: ({ proxy }) => isSet(proxy.parent),
      change: lines("proxy", 'parent = "http://proxy.example:3128"'),
    },
    {
      key: "proxy.parent_from_environment",
      name: "Upstream proxy of the environment",
      read: ({ proxy }) => onOff(proxy.parentFromEnvironment),
      change: lines("proxy", "parent_from_environment = true"),
    },
    {
      key: "proxy.password",
      name: "Password",
      read: ({ proxy }) => isSet(proxy.password),
      change: lines("proxy", 'password = "…"'),
    },
    {
      key: "proxy.other_users",
      name: "Calls of other users",
      read: ({ proxy }) => (proxy.otherUsers === "meter" ? "metered" : "passed through"),
      change: lines("proxy", 'other_users = "meter"'),
    },
    {
      key: "proxy.warm_connections",
      name: "Warm connections",
      read: ({ proxy }) => onOff(proxy.warmConnections),
      change: lines("proxy", "warm_connections = false"),
    },
    {
      key: "api.port",
      name: "Port of this dashboard",
      read: ({ api }) => `${api.port || "any free port"}`,
      change: lines("api", "port = 8765"),
    },
  ],
  "Prompts and answers": [
    {
      key: "bodies.retention_days",
      name: "Kept on this machine for",
      read: ({ bodies }) => formatQuantity(bodies.retentionDays, "day"),
      change: lines("bodies", "retention_days = 90"),
    },
    {
      key: "bodies.max_body_bytes",
      name: "Longest text that is kept",
      read: ({ bodies }) => `${formatCount(bodies.maxBodyBytes)} bytes`,
      change: lines("bodies", "max_body_bytes = 524288"),
    },
    {
      key: "cloud.bodies.enabled",
      name: "Sent to the cloud",
      read: ({ cloud }) => onOff(cloud.bodies.enabled),
      change: "meter cloud privacy set bodies.enabled false",
      isLive: true,
    },
    {
      key: "cloud.bodies.per_project",
      name: "Not sent of the projects",
      read: ({ cloud }) => projectsWith(cloud.bodies.perProject, false),
      change: "meter cloud privacy set bodies.upload false --project PROJECT",
      isLive: true,
    },
    {
      key: "redaction.rules",
      name: "Your own redaction rules",
      read: ({ redactionRules }) => orNone(redactionRules.map(({ name }) => name)),
      change: '[[redaction.rules]]\nname = "ticket"\npattern = "TICKET-\\\\d+"',
    },
  ],
  Cloud: [
    {
      key: "cloud.enabled",
      name: "Sync of metadata",
      read: ({ cloud }) => onOff(cloud.enabled),
      change: "meter cloud connect",
      isLive: true,
    },
    {
      key: "cloud.base_url",
      name: "Address",
      read: ({ cloud }) => cloud.baseUrl ?? "none",
      change: "meter cloud connect --base-url https://meter.example.com",
      isLive: true,
    },
    {
      key: "cloud.upload.preset",
      name: "Fields that are sent",
      read: ({ cloud }) => cloud.upload.preset,
      change: "meter cloud privacy set preset minimal",
      isLive: true,
    },
    {
      key: "cloud.upload.prompt_hash_kind",
      name: "Hash of prompts",
      read: ({ cloud }) => cloud.upload.promptHashKind,
      change: "meter cloud privacy set prompt-hash-kind keyed",
      isLive: true,
    },
    {
      key: "cloud.upload.per_project",
      name: "Projects that stay here",
      read: ({ cloud }) => projectsWith(cloud.upload.perProject, false),
      change: "meter cloud privacy set upload false --project PROJECT",
      isLive: true,
    },
  ],
  Metering: [
    {
      key: "providers",
      name: "Hosts that you added",
      read: ({ providers }) => orNone(providers.map(({ host }) => host)),
      change: "meter provider add",
    },
    {
      key: "attribution.default_project",
      name: "Project of other calls",
      read: ({ attribution }) => attribution.defaultProject,
      change: lines("attribution", 'default_project = "misc"'),
    },
    {
      key: "usage.estimate_missing",
      name: "Estimates of missing token counts",
      read: ({ usage }) => onOff(usage.estimateMissing),
      change: "meter estimates on",
      isLive: true,
    },
    {
      key: "telemetry.receive",
      name: "OpenTelemetry of clients",
      read: ({ telemetry }) => onOff(telemetry.receive),
      change: lines("telemetry", "receive = true"),
    },
  ],
  Prices: [
    {
      key: "pricing.auto_pull",
      name: "Published rates",
      read: ({ pricing }) => (pricing.autoPull ? "pulled regularly" : "pulled by hand"),
      change: "meter pricing auto-pull on",
      isLive: true,
    },
    {
      key: "pricing.source",
      name: "Price list",
      read: ({ pricing }) => pricing.source ?? "none",
      change: lines("pricing", 'source = "litellm"'),
      isLive: true,
    },
    {
      key: "pricing.operator",
      name: "Your own rates",
      read: ({ pricing }) => orNone(pricing.operator.map(({ model }) => model)),
      change: "[[pricing.operator]]",
    },
  ],
  "Budgets and notifications": [
    {
      key: "budget",
      name: "Budgets of config.toml",
      read: ({ budgets }) => orNone(budgets.map(({ name }) => name)),
      change: "meter budget set",
    },
    {
      key: "budget_warnings.desktop",
      name: "Warnings on the desktop",
      read: ({ budgetWarnings }) => onOff(budgetWarnings.desktop),
      change: lines("budget_warnings", "desktop = true"),
    },
    {
      key: "budget_warnings.command",
      name: "Program for warnings",
      read: ({ budgetWarnings }) => budgetWarnings.command[0] ?? "none",
      change: lines("budget_warnings", 'command = ["notify"]'),
    },
    {
      key: "webhooks",
      name: "Webhooks",
      read: ({ webhooks }) => (webhooks.length === 0 ? "none" : formatCount(webhooks.length)),
      change: "[[webhooks]]",
    },
    {
      key: "telemetry.export.endpoint",
      name: "OpenTelemetry collector",
      read: ({ telemetry }) => isSet(telemetry.export),
      change: lines("telemetry.export", 'endpoint = "https://collector.example"'),
    },
    {
      key: "log.level",
      name: "Level of the log",
      read: ({ log }) => log.level,
      change: lines("log", 'level = "info"'),
    },
  ],
};

/** Lists the settings of a running daemon, with where each value comes from and how to change it. */
export const listSettings = (facts: SettingFacts): readonly SettingGroup[] =>
  Object.entries(GROUPS).map(([title, specs]) => ({
    title,
    settings: specs.map((spec) => readSetting(spec, facts)),
  }));

function readSetting(
  { key, name, read, change, isLive }: SettingSpec,
  { started, current, table, invalid, isCloudFromEnvironment }: SettingFacts,
): Setting {
  const inFile = read(current);
  const value = isLive === true ? inFile : read(started);
  const source = (): Setting["source"] => {
    if (key === "cloud.base_url" && isCloudFromEnvironment) return "environment";
    if (table === null) return "unknown";
    if (!hasKey(table, key.split("."))) return "default";
    return invalid.has(key) ? "invalid in config.toml" : "config.toml";
  };
  return { ...{ key, name, value, change }, next: inFile === value ? null : inFile, source: source() };
}

/** Whether a table has a value at a path. */
function hasKey(table: unknown, [first = "", ...rest]: readonly string[]): boolean {
  if (typeof table !== "object" || table === null || !Object.hasOwn(table, first)) return false;
  return rest.length === 0 || hasKey((table as Record<string, unknown>)[first], rest);
}
