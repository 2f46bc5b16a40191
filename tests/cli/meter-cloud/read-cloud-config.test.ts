import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { cloudExitCodes } from "../../../cli/meter-cloud/cloud-exit-codes.ts";
import { readCloudConfig } from "../../../cli/meter-cloud/read-cloud-config.ts";
import { SETTING_NAMES, variableOf } from "../../../cli/meter-cloud/settings.ts";
import { CommandFailure } from "../../../cli/program/exit-codes.ts";

const home = mkdtempSync(join(tmpdir(), "meter-cloud-config-"));
after(() => rmSync(home, { recursive: true, force: true }));

let files = 0;
function file(text: string): string {
  files += 1;
  const path = join(home, `file-${files}`);
  writeFileSync(path, text);
  return path;
}

const env = (more: Record<string, string> = {}) => ({ METER_CLOUD_HOME: home, ...more });

/** Returns the lines of the refusal. */
async function refusal(toml: string, more: Record<string, string> = {}): Promise<string[]> {
  const read = readCloudConfig(env(more), { config: file(toml) });
  const failure = await read.then(
    () => assert.fail("it was not refused"),
    (cause: unknown) => cause,
  );
  assert.ok(failure instanceof CommandFailure, String(failure));
  assert.equal(failure.exitCode, cloudExitCodes.badConfig);
  const [title, ...problems] = failure.message.split("\n");
  assert.equal(title, "The configuration is invalid:");
  return problems.map((problem) => problem.trim());
}

describe("readCloudConfig()", () => {
  it("defaults to an embedded database in the home, reachable from this machine only", async () => {
    const { settings, databaseUrl, databaseFolder, metricsToken } = await readCloudConfig(env());
    assert.deepEqual([settings.server.host, settings.server.port], ["127.0.0.1", 8787]);
    assert.deepEqual([databaseUrl, metricsToken, settings.people.open_sign_up], [null, null, false]);
    assert.equal(databaseFolder, join(home, "database"));
  });

  it("prefers a flag to a variable, and a variable to the file", async () => {
    const config = file('[server]\nport = 1\nhost = "10.0.0.1"\ntrusted_hops = 2\n');
    const { settings } = await readCloudConfig(
      env({
        METER_CLOUD_SERVER_PORT: "2",
        METER_CLOUD_SERVER_HOST: "10.0.0.2",
        METER_CLOUD_PEOPLE_OPEN_SIGN_UP: "true",
      }),
      { config, server: { port: "3", host: undefined } },
    );
    const { port, host, trusted_hops } = settings.server;
    assert.deepEqual([port, host, trusted_hops, settings.people.open_sign_up], [3, "10.0.0.2", 2, true]);
  });

  it("reads secrets from a variable or a file", async () => {
    const secret = "s".repeat(32);
    const oidc = '[[oidc]]\nid = "my-idp"\nissuer = "https://id.example.com"\nclient_id = "meter"\n';
    const config = await readCloudConfig(
      env({
        DATABASE_URL_FILE: file("postgres://meter:pass@db/meter\n"),
        METER_CLOUD_AUTH_SECRET: secret,
        METER_CLOUD_METRICS_TOKEN_FILE: file(`${secret}\n`),
        METER_CLOUD_OIDC_MY_IDP_SECRET: "hush",
      }),
      { config: file(oidc) },
    );
    assert.deepEqual(
      [config.databaseUrl, config.authSecret, config.metricsToken, config.oidcSecrets.get("my-idp")],
      ["postgres://meter:pass@db/meter", secret, secret, "hush"],
    );
  });

  it("removes the line break at the end of a secret in a variable", async () => {
    const secret = "s".repeat(32);
    const config = await readCloudConfig(
      env({ METER_CLOUD_AUTH_SECRET: `${secret}\n`, METER_CLOUD_METRICS_TOKEN: `${secret}\n` }),
    );
    assert.deepEqual([config.authSecret, config.metricsToken], [secret, secret]);
  });

  it("reads the mail server with its sender", async () => {
    const smtp = "smtp://meter:hush@mail.example.com";
    const config = await readCloudConfig(
      env({ METER_CLOUD_SMTP_URL: smtp, METER_CLOUD_MAIL_FROM: "m@x.org" }),
    );
    assert.deepEqual([config.smtpUrl, config.settings.mail.from], [smtp, "m@x.org"]);
    assert.equal((await readCloudConfig(env())).smtpUrl, null);
  });

  it("knows a variable for every setting", () => {
    assert.ok(SETTING_NAMES.length > 15);
    assert.equal(variableOf("server", "base_url"), "METER_CLOUD_SERVER_BASE_URL");
  });

  const wrong: [name: string, toml: string, env: Record<string, string>, problems: (string | RegExp)[]][] = [
    [
      "a value of the wrong kind, by its place in the file",
      '[server]\nport = "high"\n[log]\nlevel = "loud"\n',
      {},
      [
        /^server\.port must be a whole number from 0 to 65535, but is "high"\. Fix line 2 of \S+file-\d+\.$/,
        /^log\.level must be debug, info, warn or error, but is "loud"\. Fix line 4 of \S+file-\d+\.$/,
      ],
    ],
    [
      "a value that is out of bounds",
      "[server]\nport = 70000\ntrusted_hops = -1\n",
      {},
      [
        /^server\.port must be a whole number from 0 to 65535, but is 70000\. Fix line 2 of /,
        /^server\.trusted_hops must be a whole number from 0 to 10, but is -1\. Fix line 3 of /,
      ],
    ],
    [
      "a variable by its name",
      "",
      { METER_CLOUD_SERVER_PORT: "80a", METER_CLOUD_DATABASE_MIGRATE: "yes" },
      [
        /^METER_CLOUD_SERVER_PORT must be a whole number from 0 to 65535, but is "80a"\.$/,
        /^METER_CLOUD_DATABASE_MIGRATE must be true or false/,
      ],
    ],
    [
      "names that are no settings",
      "[server]\nprot = 80\n[sever]\nport = 80\n",
      { METER_CLOUD_PORT: "80" },
      [
        "METER_CLOUD_PORT is not a setting. The settings are listed in docs/hosting.md.",
        /^server\.prot is not a setting\. Fix line 2 of /,
        /^sever is not a setting\. Fix line 3 of /,
      ],
    ],
    [
      "an address with a path",
      '[server]\nbase_url = "https://example.com/meter"\n',
      {},
      [/^server\.base_url must be an address such as /],
    ],
    [
      "a mail server with another scheme, without its password in the message",
      "",
      { METER_CLOUD_SMTP_URL: "https://meter:hush@mail.example.com" },
      [
        "METER_CLOUD_SMTP_URL is not valid. Expected: an address such as smtp://user:password@mail.example.com:587.",
      ],
    ],
    [
      "a mail server without a sender",
      "",
      { METER_CLOUD_SMTP_URL: "smtp://mail.example.com" },
      ["mail.from is missing. A mail server needs the sender of its emails."],
    ],
    ["a certificate without its key", '[server]\ntls_cert = "c.pem"\n', {}, [/TLS needs both/]],
    ["a section that is none", "server = 1\n", {}, [/^server must be a table\. Fix line 1 of /]],
    [
      "two places for one secret",
      "",
      { DATABASE_URL: "postgres://x", DATABASE_URL_FILE: "y" },
      [/both set\. Unset one of them\.$/],
    ],
    [
      "a secret's file that is not there",
      "",
      { METER_CLOUD_AUTH_SECRET_FILE: "/nowhere/x" },
      [/can't be read: it does not exist\.$/],
    ],
    [
      "a database's address that is none",
      "",
      { DATABASE_URL: "mysql://u:canary@h/d" },
      [/^DATABASE_URL is not valid\. Expected: an address such as postgres:/],
    ],
    [
      "a short secret",
      "",
      { METER_CLOUD_AUTH_SECRET: "canary" },
      [/has 6 characters; it needs at least 32\.$/],
    ],
    [
      "a provider without a secret",
      '[[oidc]]\nid = "idp"\nissuer = "https://id.example.com"\nclient_id = "m"\n',
      {},
      [
        /^METER_CLOUD_OIDC_IDP_SECRET is not set\. The provider in \[\[oidc\]\] needs it, or METER_CLOUD_OIDC_IDP_SECRET_FILE\.$/,
      ],
    ],
    [
      "the database's address in the file",
      '[database]\nurl = "postgres://u:canary@h/d"\n',
      {},
      [/^database\.url is not a setting\. .* DATABASE_URL in the environment\. Fix line 2 of /],
    ],
    ["a file that is no TOML", "[server\n", {}, [/is not valid TOML\. Fix line 1, column \d+\.$/]],
  ];
  for (const [name, toml, more, expected] of wrong) {
    it(`rejects ${name}, with a message that contains no secret`, async () => {
      const problems = await refusal(toml, more);
      assert.equal(problems.length, expected.length, problems.join("\n"));
      for (const [at, problem] of expected.entries()) {
        if (typeof problem === "string") assert.equal(problems[at], problem);
        else assert.match(problems[at] ?? "", problem);
      }
      assert.ok(!problems.join("").includes("canary"));
    });
  }

  it("rejects a named file that does not exist", async () => {
    await assert.rejects(
      readCloudConfig(env(), { config: join(home, "none.toml") }),
      /can't be read: it does not exist/,
    );
  });
});
