import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { configFile } from "../../../cli/home/config-file.ts";
import { readConfig } from "../../../cli/home/read-config.ts";
import { createEmptyHome } from "../run-command.rig.ts";

describe("readConfig()", () => {
  const rows: readonly (readonly [text: string, warning: string, line: number])[] = [
    ['[proxy]\nport = "x"\n', "proxy.port: must be a whole number; 8081 is used", 2],
    ["\n[proxy]\nprot = 1\n", "proxy.prot: is not a setting; did you mean port?", 3],
    ["proxy = 1\n", "proxy: must be a table; ignored", 1],
    [
      '[cloud]\nbase_url = "http://example.com"\n',
      "cloud.base_url: must be an https URL without credentials; no cloud is configured",
      2,
    ],
    [
      '[[providers]]\nhost = "a.example"\nprovider = "a"\n[[providers]]\nhost = "b.example"\n',
      "providers[1].provider: is required; this provider is ignored",
      4,
    ],
    [
      'providers = [\n  { host = "a.example", provider = "a" },\n  { host = "b.example", provider = "b", billing = 3 },\n]\n',
      "providers[1].billing: must be one of metered, plan, free, unknown; ignored",
      3,
    ],
    ...(
      [
        ["a.123", "can't be part of a URL"],
        ["*.999.1.1.1", "can't be part of a URL"],
        ["999.1.1.1", "can't be part of a URL"],
        [":::", "can't be part of a URL"],
        ["0x7F.1", "must be written 127.0.0.1, as in URLs"],
        ["0:0::1", "must be written ::1, as in URLs"],
        ["a..example", "must be a host name"],
        ["a.example.", "must be a host name"],
        ["a b", "must be a host name"],
      ] as const
    ).map(
      ([host, problem]) =>
        [
          `[[providers]]\nhost = "${host}"\nprovider = "a"\n`,
          `providers[0].host: ${problem}; this provider is ignored`,
          2,
        ] as const,
    ),
  ];
  for (const [text, warning, line] of rows)
    it(`names the file and line ${line} in a warning: ${warning}`, async () => {
      const { home, remove } = createEmptyHome();
      try {
        writeFileSync(configFile(home), text);
        const { warnings } = await readConfig(home, {});
        const sentence = warning.endsWith("?") ? warning : `${warning}.`;
        assert.deepEqual(warnings, [`${sentence} Fix line ${line} of ${configFile(home)}.`]);
      } finally {
        remove();
      }
    });

  it("accepts hosts as URLs name them", async () => {
    const { home, remove } = createEmptyHome();
    try {
      const hosts = ["Xn--BCHER-kva.example", "*.example", "::1", "10.0.0.1", "localhost", "ollama-1"];
      const tables = hosts.map((host) => `[[providers]]\nhost = "${host}"\nprovider = "a"\n`);
      writeFileSync(configFile(home), tables.join(""));
      const { config, warnings } = await readConfig(home, {});
      assert.deepEqual(warnings, []);
      assert.deepEqual(
        config.providers.map(({ host }) => host),
        hosts.map((host) => host.toLowerCase()),
      );
    } finally {
      remove();
    }
  });

  it("names no line for a base URL from the environment", async () => {
    const { home, remove } = createEmptyHome();
    try {
      writeFileSync(configFile(home), '[cloud]\nbase_url = "https://example.com"\n');
      const { warnings } = await readConfig(home, { HALTON_METER_CLOUD_URL: "http://example.com" });
      assert.deepEqual(warnings, [
        "cloud.base_url: must be an https URL without credentials; no cloud is configured",
      ]);
    } finally {
      remove();
    }
  });
});
