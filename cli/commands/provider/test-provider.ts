import { isDeepStrictEqual } from "node:util";
import { addProviderCommand, recogniseApi } from "../../../core/metering/coverage/unlisted-hosts.ts";
import { createRegistry } from "../../../core/metering/usage/registry.ts";
import type { RouteMatch } from "../../../core/metering/usage/route.ts";
import type { Config } from "../../../core/operations/config/config.ts";
import { priceListOf } from "../../../core/pricing/provider-names.ts";
import { configuredProvider, type StatusResponse } from "../../../daemon/api/daemon-status.ts";
import { findDaemon, readToken } from "../../daemon/daemon-process.ts";
import { requestDaemon } from "../../daemon/loopback-client.ts";
import { readConfig } from "../../home/read-config.ts";
import { findUnmeteredHosts } from "../../install/trusted-authority.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { renderTable } from "../../render/table.ts";
import { parseTestedUrl, type TestedUrl } from "./parse-url.ts";

/** The options of `meter provider test`. */
export interface TestProviderOptions {
  readonly url: string;
  readonly method: string;
  readonly json: boolean;
}

/** The paths that are tried if none is given. */
const USUAL_PATHS: readonly string[] = [
  "/v1/chat/completions",
  "/chat/completions",
  "/v1/responses",
  "/v1/messages",
  "/v1/embeddings",
  "/v1beta/models/MODEL:generateContent",
  "/api/chat",
  "/api/v1/chat",
  "/completion",
];

/** Whether the daemon uses the hosts that `config.toml` has now. */
type DaemonState = "not_running" | "loaded" | "outdated" | "unknown";

interface TestedPath {
  readonly path: string;
  readonly match: RouteMatch;
}

/** Shows how requests to a URL are metered, with the configuration as it is now. */
export async function testProvider(context: CommandContext, options: TestProviderOptions): Promise<void> {
  const url = parseTestedUrl(options.url);
  const { config } = await readConfig(context.home, context.env);
  const registry = createRegistry(config.providers, { deployments: config.azureDeployments });
  const method = options.method.toUpperCase();
  const base = config.providers.find(({ host }) => host === url.host)?.basePath ?? "";
  const paths = url.path === null ? USUAL_PATHS.map((path) => `${base}${path}`) : [url.path];
  const tested = paths.map((path): TestedPath => {
    const { host, port } = url;
    return { path, match: registry.match({ host, port, method, path }) };
  });
  const daemon = await readDaemonState(context, config);
  const isHostKnown = registry.isProviderHost(url.host, url.port);
  const isTls = isHostKnown && url.scheme === "https";
  const needsInit = isTls && (await findUnmeteredHosts(context.home, context.env, [url.host])).length > 0;
  const isConfigured = registry.operatorHosts.some(({ host }) => host === url.host);
  if (options.json)
    return context.printJson({
      ...url,
      method,
      configured: isConfigured,
      is_provider_host: isHostKnown,
      daemon,
      needs_init: needsInit,
      results: tested.map(({ path, match }) => ({
        path,
        kind: match.kind,
        provider: match.kind === "not_provider" ? null : match.provider,
        api: match.kind === "metered" ? match.api : null,
        model: match.kind === "metered" ? match.model : null,
        price_list: match.kind === "metered" ? priceListFor(match.provider, config) : null,
      })),
    });
  context.print(renderTest(url, method, tested, { config, isHostKnown, width: context.width }));
  context.print(describeDaemon(daemon));
  if (needsInit)
    context.print(
      "Over TLS, its calls are not metered yet, because programs trust a certificate that does not cover it. Renew it:\n  meter init --yes",
    );
}

/** Renders the results, and for a host that is not metered the command that adds it. */
function renderTest(
  url: TestedUrl,
  method: string,
  tested: readonly TestedPath[],
  {
    config,
    isHostKnown,
    width,
  }: { readonly config: Config; readonly isHostKnown: boolean; readonly width: number },
): string {
  const { host, port, scheme } = url;
  const isKnown = tested.some(({ match }) => match.kind !== "not_provider");
  if (!isKnown && isHostKnown)
    return `${host} is metered, but not this path: it is outside the base path, or not the path of a model API.`;
  if (!isKnown) {
    const api = recogniseApi(method, url.path ?? "") ?? "openai";
    const isDefault = port === (scheme === "https" ? 443 : 80);
    return `${host} is not metered${url.path === null ? "" : " at this path"}. Meter it:\n  ${addProviderCommand({ host, port: isDefault ? null : port, apis: [api] })}`;
  }
  const rows = tested
    .filter(({ match }) => url.path !== null || match.kind === "metered")
    .map(({ path, match }) => [
      `${method} ${path}`,
      describeMatch(match),
      match.kind === "metered" ? match.provider : "",
      match.kind === "metered" ? priceListFor(match.provider, config) : "",
    ]);
  if (rows.length === 0)
    return `${host} is a provider's host, but none of the usual paths is metered. Test a whole URL.`;
  return renderTable(
    [
      { title: "request", shrink: true },
      { title: "metered as" },
      { title: "provider" },
      { title: "prices of" },
    ],
    rows,
    width,
  );
}

function describeMatch(match: RouteMatch): string {
  switch (match.kind) {
    case "metered":
      return match.api;
    case "free":
      return "not billed by usage";
    case "unknown_path":
      return "unknown path, counted in meter coverage";
    case "not_provider":
      return "ignored";
  }
}

/** Returns the name of the price list of a provider. */
const priceListFor = (provider: string, { providers }: Config): string =>
  priceListOf(
    providers.find((each) => each.provider === provider && each.prices !== undefined)?.prices ?? provider,
  );

async function readDaemonState({ home }: CommandContext, { providers }: Config): Promise<DaemonState> {
  const running = await findDaemon(home);
  if (running === null) return "not_running";
  const answer = await requestDaemon(running, "/v1/status", readToken(home));
  if (answer.status !== 200) return "unknown";
  const { configured_providers: loaded } = JSON.parse(answer.body) as Partial<StatusResponse>;
  if (loaded === undefined) return "outdated";
  return isDeepStrictEqual(loaded, providers.map(configuredProvider)) ? "loaded" : "outdated";
}

function describeDaemon(state: DaemonState): string {
  switch (state) {
    case "loaded":
      return "The daemon uses these settings.";
    case "outdated":
      return "The daemon started with other [[providers]]. Restart it:\n  meter stop && meter start";
    case "not_running":
      return "The daemon is not running. Start it:\n  meter start";
    case "unknown":
      return "The daemon did not answer. Check it:\n  meter status";
  }
}
