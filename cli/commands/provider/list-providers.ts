import { PROVIDERS } from "../../../core/metering/usage/providers.ts";
import { configuredProvider } from "../../../daemon/api/daemon-status.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { renderTable } from "../../render/table.ts";

/** The options of `meter provider list`. */
export interface ListProvidersOptions {
  readonly word?: string | undefined;
  readonly json: boolean;
}

/** The hosts of one provider with the same APIs. */
interface ListedProvider {
  readonly provider: string;
  readonly hosts: readonly string[];
  /** 0 means any port. */
  readonly port: number;
  readonly api: readonly string[];
  readonly base_path: string | null;
  readonly prices: string | null;
  readonly source: "config.toml" | "built-in";
}

/** How many hosts a row names; JSON and a list of one provider have all. */
const MAX_HOSTS = 2;

/** Lists the configured hosts, then the built-in ones. */
export async function listProviders(context: CommandContext, options: ListProvidersOptions): Promise<void> {
  const { word } = options;
  const { config } = await readConfig(context.home, context.env);
  const configured = config.providers.map((each): ListedProvider => {
    const { host, ...rest } = configuredProvider(each);
    return { ...rest, hosts: [host], source: "config.toml" };
  });
  const builtIn = PROVIDERS.map(({ provider, hosts, port, apis, paths = [] }): ListedProvider => {
    const api = [...new Set(apis.map(([dialect]) => dialect)), ...(paths.length > 0 ? ["own paths"] : [])];
    return { provider, hosts, port, api, base_path: null, prices: null, source: "built-in" };
  });
  const wanted = ({ provider, hosts }: ListedProvider) =>
    word === undefined || [provider, ...hosts].some((name) => name.includes(word.toLowerCase()));
  const all = [...configured, ...builtIn].filter(wanted);
  if (options.json) return context.printJson(all);
  if (all.length === 0) return context.print(`No provider or host contains ${word ?? ""}.`);
  context.print(
    renderTable(
      [
        { title: "provider" },
        { title: "hosts", shrink: true },
        { title: "api", shrink: true },
        { title: "prices" },
        { title: "source" },
      ],
      all.map((each) => [
        each.provider,
        formatHosts(each, word !== undefined),
        each.api.join(", "),
        each.prices ?? "",
        each.source,
      ]),
      context.width,
    ),
  );
}

function formatHosts({ hosts, port, base_path }: ListedProvider, showsAll: boolean): string {
  const suffix = `${port === 0 || port === 443 ? "" : `:${port}`}${base_path ?? ""}`;
  const shown = (showsAll ? hosts : hosts.slice(0, MAX_HOSTS)).map((host) => `${host}${suffix}`);
  const more = hosts.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
