import { UsageError } from "clipanion";
import { appendTomlTable, type TomlTableValue } from "../../../adapters/files/edit-toml.ts";
import { providerNameOf } from "../../../core/metering/coverage/unlisted-hosts.ts";
import { createRegistry, type ExtraHost } from "../../../core/metering/usage/registry.ts";
import { resolveConfig } from "../../../core/operations/config/resolve-config.ts";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { priceListOf } from "../../../core/pricing/provider-names.ts";
import { configuredProvider } from "../../../daemon/api/daemon-status.ts";
import { findDaemon } from "../../daemon/daemon-process.ts";
import { configFile } from "../../home/config-file.ts";
import { editConfigText } from "../../home/edit-config.ts";
import { hostInUrl } from "../../home/host-in-url.ts";
import { readConfig } from "../../home/read-config.ts";
import { findUnmeteredHosts } from "../../install/trusted-authority.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { parseHost } from "./parse-url.ts";

/** The options of `meter provider add`. */
export interface AddProviderOptions {
  readonly host: string;
  readonly api?: readonly string[] | undefined;
  readonly port?: string | undefined;
  readonly basePath?: string | undefined;
  readonly providerName?: string | undefined;
  readonly prices?: string | undefined;
  readonly billing?: string | undefined;
  readonly json: boolean;
}

/** The names of platforms that serve models besides other data, by the suffix of their hosts. See docs/providers.md. */
const PLATFORMS: readonly (readonly [suffix: RegExp, name: string])[] = [
  [/\.(cloud|gcp)\.databricks\.com$|\.azuredatabricks\.net$/, "databricks"],
  [/\.snowflakecomputing\.com$/, "snowflake"],
];

/** Adds a host to `config.toml`. */
export async function addProvider(context: CommandContext, options: AddProviderOptions): Promise<void> {
  const { home, env } = context;
  const table = tableOf(options);
  const host = validate(table);
  const { config } = await readConfig(home, env);
  const isSame = (other: ExtraHost) =>
    other.host === host.host && other.port === host.port && (other.basePath ?? "") === (host.basePath ?? "");
  if (config.providers.some(isSame))
    throw new CommandFailure(`${configFile(home)} has ${host.host} already. Edit the file to change it.`);
  const isBuiltIn = createRegistry().isProviderHost(host.host.replace("*.", "a."), host.port ?? 443);
  await editConfigText(home, "providers", (text) => appendTomlTable(text, "providers", table));
  const running = (await findDaemon(home)) !== null;
  const needsInit = (await findUnmeteredHosts(home, env, [host.host])).length > 0;
  const lists = new Set(loadBundledRates().map(({ provider }) => priceListOf(provider)));
  const list = host.prices ?? host.provider;
  const isPriced = lists.has(priceListOf(list));
  if (options.json)
    return context.printJson({
      ...configuredProvider(host),
      replaces_built_in: isBuiltIn,
      has_bundled_prices: isPriced,
      daemon_must_restart: running,
      needs_init: needsInit,
    });
  context.print(`Added ${host.host} to ${configFile(home)} as ${host.provider}.`);
  if (isBuiltIn) context.print("The host is built in. Your table replaces the built-in settings.");
  if (!isPriced)
    context.print(
      `There are no bundled prices for ${list}; its calls are unpriced unless you set rates. To use the prices of another provider, set prices in the table, for example prices = "openai".`,
    );
  context.print(describeNextStep(running, needsInit));
  context.print(`Check it:\n  meter provider test ${testedAddress(host)}`);
}

/** Writes the host as `meter provider test` reads it. */
const testedAddress = ({ host, port }: ExtraHost): string => {
  const name = host.includes(":") ? `[${host}]` : host;
  return port == null ? name : `${name}:${port}`;
};

/** Describes how the daemon learns of the host. `meter init` starts or restarts it. */
function describeNextStep(running: boolean, needsInit: boolean): string {
  if (needsInit)
    return "Programs trust a certificate of the meter that does not cover it. Renew the certificate, and use the host:\n  meter init --yes";
  return running
    ? "Restart the daemon to use it:\n  meter stop && meter start"
    : "Start the daemon to use it:\n  meter start";
}

function tableOf(options: AddProviderOptions): Record<string, TomlTableValue> {
  const { host, port: writtenPort } = parseHost(options.host);
  const port = readPort(options.port ?? (writtenPort === null ? undefined : String(writtenPort)));
  const platform = PLATFORMS.find(([suffix]) => suffix.test(host))?.[1];
  const usual = platform === undefined ? ["openai"] : ["openai", "anthropic", "model-serving"];
  const api = options.api === undefined || options.api.length === 0 ? usual : [...new Set(options.api)];
  return {
    host,
    ...(port !== null && { port }),
    provider: options.providerName ?? platform ?? providerNameOf(host),
    api: api.length === 1 ? (api[0] as string) : api,
    ...(options.basePath !== undefined && { base_path: options.basePath }),
    ...(options.prices !== undefined && { prices: options.prices }),
    ...(options.billing !== undefined && { billing: options.billing }),
  };
}

function readPort(text: string | undefined): number | null {
  if (text === undefined) return null;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535)
    throw new UsageError(`Invalid value for --port: ${text}. Expected: a number from 1 to 65535.`);
  return port;
}

/** The option of a key, where it is not the key's own name. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  host: "The host",
  provider: "--name",
  base_path: "--base-path",
};

/** Reads the table as the daemon will, and refuses what it would warn about. */
function validate(table: Readonly<Record<string, unknown>>): ExtraHost {
  const { config, warnings } = resolveConfig({ providers: [table] }, { today: "2000-01-01", hostInUrl });
  const [host] = config.providers;
  if (warnings.length > 0 || host === undefined)
    throw new UsageError(
      warnings
        .join("\n")
        .replaceAll(/providers\[0\]\.(\w+):/g, (_, key: string) => OPTION_NAMES[key] ?? `--${key}`)
        .replaceAll(/; ignored|; this provider is ignored/g, "."),
    );
  return host;
}
