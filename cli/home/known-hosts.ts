import type { IsKnownHost, UnlistedHost } from "../../core/metering/coverage/unlisted-hosts.ts";
import type { CommandContext } from "../program/command-context.ts";

/**
 * Returns which hosts the configuration and this version meter. Reads and loads nothing if no host is unlisted, which is the usual
 * case.
 */
export async function readKnownHosts(
  { home, env }: Pick<CommandContext, "home" | "env">,
  unlisted: readonly UnlistedHost[],
): Promise<IsKnownHost> {
  if (unlisted.length === 0) return () => false;
  const [{ createRegistry }, { readConfigOrDefaults }] = await Promise.all([
    import("../../core/metering/usage/registry.ts"),
    import("./read-config.ts"),
  ]);
  const { config } = await readConfigOrDefaults(home, env);
  return createRegistry(config.providers, { deployments: config.azureDeployments }).isProviderHost;
}
