import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listSettings } from "../../../../core/operations/config/list-settings.ts";
import { resolveConfig } from "../../../../core/operations/config/resolve-config.ts";

const resolve = (table: Readonly<Record<string, unknown>>) => resolveConfig(table, { today: "2026-11-28" });

function list(table: Readonly<Record<string, unknown>>, startedWith = table, isCloudFromEnvironment = false) {
  const { config: current, warnedKeys: invalid } = resolve(table);
  const facts = { started: resolve(startedWith).config, current, table, invalid, isCloudFromEnvironment };
  return Object.fromEntries(
    listSettings(facts)
      .flatMap(({ settings }) => settings)
      .map((setting) => [setting.key, setting]),
  );
}

const CHANGED = {
  proxy: { port: 0, parent: "http://ann:hunter2@proxy.test", password: "hunter2", other_users: "meter" },
  api: { port: 0 },
  bodies: { retention_days: 30 },
  cloud: {
    ...{ enabled: true, base_url: "https://meter.example.com", bodies: { enabled: true } },
    upload: { preset: "minimal", per_project: { secret: { upload: false } } },
  },
  pricing: { auto_pull: true, source: "litellm" },
  providers: [{ host: "gate.example", provider: "gate" }],
  budget_warnings: { command: ["notify", "--token", "hunter2"] },
  telemetry: { export: { endpoint: "https://collector.test", headers: { key: "hunter2" } } },
};

describe("listSettings()", () => {
  it("has the defaults of an empty file", () => {
    const settings = list({});
    assert.ok(Object.values(settings).every(({ source, next }) => source === "default" && next === null));
    assert.deepEqual(
      ["proxy.port", "bodies.retention_days", "cloud.enabled", "cloud.base_url", "providers"].map(
        (key) => settings[key]?.value,
      ),
      ["8081", "90 days", "off", "none", "none"],
    );
  });

  it("says which values are from the file and from the environment", () => {
    const settings = list(CHANGED, CHANGED, true);
    const of = (key: string) => [settings[key]?.value, settings[key]?.source];
    assert.deepEqual(of("proxy.port"), ["any free port", "config.toml"]);
    assert.deepEqual(of("api.port"), ["any free port", "config.toml"]);
    assert.deepEqual(of("proxy.host"), ["127.0.0.1", "default"]);
    assert.deepEqual(of("proxy.other_users"), ["metered", "config.toml"]);
    assert.deepEqual(of("cloud.base_url"), ["https://meter.example.com", "environment"]);
    assert.deepEqual(of("cloud.upload.per_project"), ["secret", "config.toml"]);
    assert.deepEqual(of("providers"), ["gate.example", "config.toml"]);
    assert.deepEqual(of("pricing.auto_pull"), ["pulled regularly", "config.toml"]);
    assert.deepEqual(of("telemetry.receive"), ["off", "default"]);
  });

  it("does not know where a value is from if the file can't be read", () => {
    const started = resolve(CHANGED).config;
    const facts = { started, current: started, table: null, invalid: new Set<string>() };
    const groups = listSettings({ ...facts, isCloudFromEnvironment: true });
    const settings = groups.flatMap(({ settings }) => settings);
    assert.deepEqual([...new Set(settings.map(({ source }) => source))].sort(), ["environment", "unknown"]);
    assert.equal(settings.find(({ key }) => key === "bodies.retention_days")?.value, "30 days");
  });

  it("does not say that config.toml sets what replaces an invalid value", () => {
    const settings = list({
      log: { level: "loud" },
      bodies: { retention_days: 0 },
      cloud: { upload: { prompt_hash_kind: "md5", preset: "full" } },
    });
    for (const [key, value, source] of [
      ["log.level", "info", "invalid in config.toml"],
      ["bodies.retention_days", "90 days", "invalid in config.toml"],
      ["cloud.upload.prompt_hash_kind", "keyed", "invalid in config.toml"],
      ["cloud.upload.preset", "full", "config.toml"],
    ] as const)
      assert.deepEqual([settings[key]?.value, settings[key]?.source], [value, source], key);
  });

  it("counts one day as one", () => {
    assert.equal(list({ bodies: { retention_days: 1 } })["bodies.retention_days"]?.value, "1 day");
  });

  it("has no secret", () => {
    const settings = list(CHANGED);
    assert.doesNotMatch(JSON.stringify(settings), /hunter2/);
    const keys = ["proxy.parent", "proxy.password", "telemetry.export.endpoint"];
    assert.deepEqual(
      keys.map((key) => settings[key]?.value),
      ["set", "set", "set"],
    );
    assert.equal(settings["budget_warnings.command"]?.value, "notify");
  });

  it("says what applies at the next start, and shows at once what applies at once", () => {
    const settings = list(CHANGED, {});
    assert.deepEqual(
      [settings["bodies.retention_days"]?.value, settings["bodies.retention_days"]?.next],
      ["90 days", "30 days"],
    );
    assert.deepEqual(
      [settings["cloud.upload.preset"]?.value, settings["cloud.upload.preset"]?.next],
      ["minimal", null],
    );
  });

  it("has names for rules, rates, budgets and webhooks", () => {
    const settings = list({
      redaction: { rules: [{ name: "ticket", pattern: "T-\\d+" }] },
      pricing: { operator: [{ provider: "gate", model: "large", input: 1 }] },
      budget: [{ name: "month", amount: "20 USD", period: "month" }],
      webhooks: [
        { url: "https://hooks.test/x", events: ["record.stored"], secret: `whsec_${btoa("x".repeat(32))}` },
      ],
    });
    for (const [key, value] of [
      ["redaction.rules", "ticket"],
      ["pricing.operator", "large"],
      ["budget", "month"],
    ] as const)
      assert.equal(settings[key]?.value, value);
    assert.equal(settings.webhooks?.value, "1");
  });
});
