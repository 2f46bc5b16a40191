import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { writeInstallRecord } from "../../../../adapters/installer/install-record.ts";
import { createProxySettings } from "../../../../cli/commands/start/proxy-settings.ts";
import { createRegistry } from "../../../../core/metering/usage/registry.ts";
import { resolveConfig } from "../../../../core/operations/config/resolve-config.ts";
import { createEmptyHome } from "../../run-command.rig.ts";

const environment = { HTTPS_PROXY: "http://ann:pass@corp.example:3128", NO_PROXY: "intranet.example" };

/** Returns the address of the upstream proxy for https, with what `init` recorded of its environment. */
async function findParent(
  proxy: Record<string, unknown>,
  recorded: Record<string, string> | null,
  env: Record<string, string> = {},
): Promise<string | null> {
  const { home, remove } = createEmptyHome();
  try {
    if (recorded !== null)
      writeInstallRecord(home, {
        ...({ format: 1, meter_version: "0.4.0", name: "meter", apps: true } as const),
        ...{ trusted_files: [], daemon_environment: recorded, entries: [] },
      });
    const { config } = resolveConfig({ proxy }, { today: "2026-11-29", baseUrl: {} });
    const { parentProxies } = await createProxySettings(home, config, createRegistry([]), env, []);
    const { https, noProxy } = parentProxies;
    return https === null ? null : `${https.host}:${https.port} except ${noProxy.join()}`;
  } finally {
    remove();
  }
}

describe("createProxySettings()", () => {
  it("connects through the proxy that the environment of meter init named", async () => {
    assert.equal(await findParent({}, environment), "corp.example:3128 except intranet.example");
    assert.equal(await findParent({}, {}), null);
    assert.equal(await findParent({}, null, environment), null);
  });

  it("prefers the configuration to what meter init recorded", async () => {
    assert.equal(await findParent({ parent: "http://own.example:1" }, environment), "own.example:1 except ");
    assert.equal(await findParent({ parent: "" }, environment), null);
    const env = { HTTPS_PROXY: "http://now.example:2" };
    assert.equal(
      await findParent({ parent_from_environment: true }, environment, env),
      "now.example:2 except ",
    );
  });
});
