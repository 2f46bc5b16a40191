import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openCertificateAuthority } from "../../../../adapters/certificates/certificate-authority.ts";
import { writeInstallRecord } from "../../../../adapters/installer/install-record.ts";
import { createEmptyHome, runWords } from "../../run-command.rig.ts";

const written = `# Our proxy.
[proxy]
port = 18081 # not 8081

[[providers]] # the old gateway
host = "old.corp.test"
provider = "old"
`;

/** Runs the command lines on a home with that configuration, and returns what they printed and the file. */
async function run(config: string, ...lines: readonly (readonly string[])[]) {
  const home = createEmptyHome(config);
  try {
    const said = [];
    for (const words of lines) said.push(await runWords(home.home, ["provider", ...words]));
    return { said, file: readFileSync(join(home.home, "config.toml"), "utf8") };
  } finally {
    home.remove();
  }
}

describe("meter provider add", () => {
  it("appends a table and keeps every other byte", async () => {
    const { said, file } = await run(
      written,
      [
        "add",
        "Gate.corp.test:8443",
        "--api",
        "openai",
        "--api",
        "anthropic",
        "--base-path",
        "/llm",
        "--prices",
        "openai",
        "--billing",
        "plan",
      ],
      ["add", "gpu-box", "--port", "8001", "--name", "lab"],
    );
    assert.deepEqual(
      said.map(({ code }) => code),
      [0, 0],
    );
    assert.equal(
      file,
      `${written}
[[providers]]
host = "gate.corp.test"
port = 8443
provider = "gate-corp-test"
api = ["openai", "anthropic"]
base_path = "/llm"
prices = "openai"
billing = "plan"

[[providers]]
host = "gpu-box"
port = 8001
provider = "lab"
api = "openai"
`,
    );
    for (const [index, address] of ["gate.corp.test:8443", "gpu-box:8001"].entries())
      assert.ok(said[index]!.stdout.endsWith(`\nCheck it:\n  meter provider test ${address}\n`));
    assert.match(
      said[0]!.stdout,
      /^Added gate\.corp\.test to .*config\.toml as gate-corp-test\.\nStart the daemon to use it:\n {2}meter start\n/,
    );
    assert.match(said[1]!.stdout, /There are no bundled prices for lab; its calls are unpriced/);
  });

  it("names meter init if programs trust a certificate that does not cover the host", async () => {
    const home = createEmptyHome();
    try {
      const { certificatePem } = openCertificateAuthority({
        directory: join(home.home, "ca"),
        hosts: ["api.openai.com"],
        now: Date.now(),
      });
      writeInstallRecord(home.home, {
        ...{ format: 1, meter_version: "0.4.0", name: "meter", apps: true, authority: certificatePem },
        ...{ trusted_files: [], daemon_environment: {}, entries: [] },
      });
      const added = await runWords(home.home, ["provider", "add", "gate.corp.test"]);
      assert.match(
        added.stdout,
        /\nPrograms trust a certificate of the meter that does not cover it\. Renew the certificate, and use the host:\n {2}(npx --no-install )?meter init --yes\n/,
      );
      const tested = await runWords(home.home, ["provider", "test", "gate.corp.test"]);
      assert.match(tested.stdout, /Over TLS, its calls are not metered yet/);
      const known = await runWords(home.home, ["provider", "add", "api.openai.com", "--json"]);
      assert.equal(JSON.parse(known.stdout).needs_init, false);
    } finally {
      home.remove();
    }
  });

  it("knows what Databricks and Snowflake serve", async () => {
    const { file } = await run(
      "",
      ["add", "acme.snowflakecomputing.com"],
      ["add", "acme.cloud.databricks.com"],
    );
    assert.match(file, /provider = "snowflake"\napi = \["openai", "anthropic", "model-serving"\]/);
    assert.match(file, /provider = "databricks"/);
  });

  it("says that it replaces what is built in", async () => {
    const { said } = await run("", ["add", "api.openai.com", "--json"]);
    assert.partialDeepStrictEqual(JSON.parse(said[0]!.stdout), {
      host: "api.openai.com",
      replaces_built_in: true,
    });
  });

  it("changes nothing if a value is invalid or the host is there", async () => {
    const { said, file } = await run(
      written,
      ["add", "https://gate.corp.test/llm"],
      ["add", "x.test", "--api", "soap"],
      ["add", "x.test", "--port", "70000"],
      ["add", "x.test", "--base-path", "llm"],
      ["add", "old.corp.test"],
      ["add", "999.1.1.1"],
      ["add", "0x7f.1"],
    );
    assert.equal(file, written);
    assert.deepEqual(
      said.map(({ code }) => code),
      [2, 2, 2, 2, 1, 2, 2],
    );
    assert.match(said[1]!.stderr, /^meter: --api must be one of openai, /);
    assert.match(said[3]!.stderr, /^meter: --base-path must /);
    assert.match(said[4]!.stderr, /has old\.corp\.test already\. Edit the file to change it\./);
    assert.match(said[5]!.stderr, /^meter: The host can't be part of a URL\.\n/);
    assert.match(said[6]!.stderr, /^meter: The host must be written 127\.0\.0\.1, as in URLs\.\n/);
  });

  it("refuses a file whose providers are written in one line", async () => {
    const config = 'providers = [{ host = "x.test", provider = "x" }]\n';
    const { said, file } = await run(config, ["add", "y.test"]);
    assert.equal(file, config);
    assert.match(said[0]!.stderr, /Can't set providers in .*: the file uses that name for something else/);
  });
});

describe("meter provider list", () => {
  it("lists the configured hosts before the built-in ones", async () => {
    const { said } = await run(written, ["list"], ["list", "copilot", "--json"]);
    const lines = said[0]!.stdout.split("\n");
    assert.match(lines[2]!, /^old +old\.corp\.test +openai +config\.toml$/);
    assert.match(lines[3]!, /^anthropic +api\.anthropic\.com .*built-in$/);
    assert.deepEqual(
      JSON.parse(said[1]!.stdout).map(({ provider }: { provider: string }) => provider),
      ["github-copilot"],
    );
  });
});

describe("meter provider test", () => {
  const config = `${written}api = ["openai", "anthropic"]\nbase_path = "/llm"\nprices = "openai"\n`;

  it("tries the usual paths of a host, below its base path", async () => {
    const { said } = await run(config, ["test", "old.corp.test"]);
    assert.match(said[0]!.stdout, /^POST \/llm\/v1\/chat\/completions +openai\.chat +old +openai$/m);
    assert.match(said[0]!.stdout, /^POST \/llm\/v1\/messages +anthropic\.messages +old +openai$/m);
    assert.match(said[0]!.stdout, /\nThe daemon is not running\. Start it:\n {2}meter start\n$/);
  });

  it("shows how one URL is metered, as JSON too", async () => {
    const { said } = await run(
      config,
      ["test", "https://old.corp.test/wiki"],
      ["test", "https://api.openai.com/v1/zz"],
      ["test", "http://localhost:8000/v1/messages", "--json"],
    );
    assert.match(said[0]!.stdout, /^old\.corp\.test is metered, but not this path: /);
    assert.match(said[1]!.stdout, /unknown path, counted in meter coverage/);
    assert.partialDeepStrictEqual(JSON.parse(said[2]!.stdout), {
      host: "localhost",
      port: 8000,
      configured: false,
      daemon: "not_running",
      results: [{ kind: "metered", provider: "vllm", api: "anthropic.messages" }],
    });
  });

  it("names the command that adds an unknown host, with the API of the URL", async () => {
    const { said } = await run("# empty\n", ["test", "https://gate.test:8443/anthropic/v1/messages"]);
    assert.match(
      said[0]!.stdout,
      /^gate\.test is not metered at this path\. Meter it:\n {2}meter provider add gate\.test --port 8443 --api anthropic\n/,
    );
  });
});
