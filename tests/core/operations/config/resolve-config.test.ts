import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { MAX_BUDGETS } from "../../../../core/budgets/budget.ts";
import { resolveBaseUrl } from "../../../../core/operations/config/base-url.ts";
import { resolveConfig } from "../../../../core/operations/config/resolve-config.ts";
import { parseDuration } from "../../../../core/values/duration.ts";

const today = "2026-11-21";
const resolve = (raw: unknown) => resolveConfig(raw, { today });
const aWebhook = {
  url: "https://hooks.dev/x",
  events: ["record.stored"],
  secret: `whsec_${"A".repeat(32)}`,
};

describe("resolveConfig()", () => {
  it("has the specification's defaults", () => {
    const { config, warnings } = resolve({});
    assert.deepEqual(warnings, []);
    assert.deepEqual(config, {
      proxy: {
        host: "127.0.0.1",
        port: 8081,
        parent: null,
        parentFromEnvironment: false,
        extraCa: null,
        password: null,
        requireAuthorization: true,
        sharedTargets: [],
        otherUsers: "tunnel",
        warmConnections: true,
      },
      api: { host: "127.0.0.1", port: 8765, dashboardOrigins: [] },
      cloud: {
        enabled: false,
        baseUrl: null,
        bodies: {
          enabled: false,
          syncIntervalSeconds: 60,
          maxBodyBytesPerUpload: 1_048_576,
          perProject: {},
          uploadFrom: null,
        },
        upload: { preset: "standard", fields: {}, perProject: {}, promptHashKind: "auto" },
      },
      bodies: { maxBodyBytes: 524_288, retentionDays: 90 },
      pricing: { autoPull: false, pullIntervalMs: 21_600_000, pullUrl: null, source: null, operator: [] },
      attribution: { defaultProject: "misc", autoClassifyUnknownProcesses: true },
      providers: [],
      azureDeployments: {},
      usage: { estimateMissing: false },
      telemetry: { receive: false, export: null },
      redactionRules: [],
      webhooks: [],
      budgets: [],
      budgetWarnings: { desktop: true, command: [] },
      log: { level: "info" },
    });
  });

  it("reads every setting", () => {
    const { config, warnings } = resolve({
      auto_classify_unknown_processes: false,
      proxy: {
        host: "::1",
        port: 0,
        parent: "http://proxy:3128",
        parent_from_environment: true,
        extra_ca: "/ca.pem",
        password: "p",
        require_authorization: false,
        other_users: "meter",
        warm_connections: false,
      },
      api: { host: "localhost", port: 1, dashboard_origins: ["https://a.dev"] },
      cloud: {
        enabled: true,
        base_url: "https://cloud.dev/",
        bodies: {
          enabled: true,
          sync_interval_seconds: 5,
          max_body_bytes_per_upload: 1000,
          per_project: { "My Web": false },
          upload_from: "2026-01-02",
        },
        upload: {
          preset: "full",
          source_workdir: false,
          prompt_hash_kind: "plain",
          per_project: { Secret: { upload: false }, other: false },
        },
      },
      bodies: { max_body_bytes: 1_048_576, retention_days: 7 },
      pricing: {
        auto_pull: true,
        pull_interval: "1h30m",
        pull_url: "https://rates.dev/x",
        operator: [{ provider: "acme", model: "m-1", input: 1.5, output: "3", cache_read: "0.1" }],
      },
      attribution: { default_project: "Other Things" },
      providers: [{ host: "LLM.corp.dev", port: 8443, provider: "corp", api: "anthropic" }],
      azure: { deployments: { "our-gpt": "gpt-5" } },
      usage: { estimate_missing: true },
      telemetry: {
        receive: true,
        export: {
          endpoint: "https://otel.dev:4318/x",
          signals: ["metrics", "traces"],
          fields: "full",
          headers: { "X-Team": "secret value" },
        },
      },
      redaction: { rules: [{ name: "badge", pattern: "EMP-\\d{4}" }] },
      log: { level: "debug" },
    });
    assert.deepEqual(warnings, []);
    assert.equal(config.cloud.baseUrl, "https://cloud.dev");
    assert.deepEqual(config.cloud.bodies, {
      enabled: true,
      syncIntervalSeconds: 5,
      maxBodyBytesPerUpload: 1000,
      perProject: { "my-web": false },
      uploadFrom: { kind: "instant", at: Date.UTC(2026, 0, 2) },
    });
    assert.deepEqual(config.cloud.upload, {
      preset: "full",
      fields: { source_workdir: false },
      perProject: { secret: false, other: false },
      promptHashKind: "plain",
    });
    assert.deepEqual(config.bodies, { maxBodyBytes: 1_048_576, retentionDays: 7 });
    assert.equal(config.pricing.pullIntervalMs, 5_400_000);
    assert.equal(config.pricing.pullUrl, "https://rates.dev/x");
    const [row] = config.pricing.operator;
    assert.deepEqual(
      [row?.source, row?.provenanceDate, row?.rates.input, row?.rates.output, row?.rates.cacheRead],
      ["operator", today, 1_500_000, 3_000_000, 100_000],
    );
    assert.deepEqual(config.attribution, {
      defaultProject: "other-things",
      autoClassifyUnknownProcesses: false,
    });
    assert.deepEqual(config.providers, [
      { host: "llm.corp.dev", port: 8443, provider: "corp", api: "anthropic" },
    ]);
    assert.deepEqual(config.azureDeployments, { "our-gpt": "gpt-5" });
    assert.deepEqual(config.telemetry, {
      receive: true,
      export: {
        endpoint: "https://otel.dev:4318/x",
        signals: ["traces", "metrics"],
        preset: "full",
        headers: { "x-team": "secret value" },
      },
    });
    assert.equal(config.redactionRules[0]?.name, "badge");
    assert.equal(config.log.level, "debug");
    assert.equal(config.proxy.parent, "http://proxy:3128");
  });

  it("reads webhooks", () => {
    const { config, warnings } = resolve({ webhooks: [aWebhook, { ...aWebhook, fields: "minimal" }] });
    assert.deepEqual(warnings, []);
    const webhook = {
      url: aWebhook.url,
      events: ["record.stored"],
      secretHex: "00".repeat(24),
      preset: "standard",
    };
    assert.deepEqual(config.webhooks, [webhook, { ...webhook, preset: "minimal" }]);
  });

  it("ignores budgets with an unknown key, and those above the maximum number", () => {
    const named = (name: string, more: object = {}) => ({ name, amount: "25 USD", ...more });
    const many = Array.from({ length: MAX_BUDGETS + 1 }, (_, index) => named(`b${index}`));
    const { config, warnings } = resolve({ budget: [named("x", { qqqqqqqqqq: 1 }), ...many] });
    assert.equal(config.budgets.length, MAX_BUDGETS);
    assert.deepEqual(warnings, [
      "budget[0].qqqqqqqqqq: is not a key of a budget; this budget is ignored",
      `budget[${MAX_BUDGETS + 1}].name: there are more than ${MAX_BUDGETS} budgets; this budget is ignored`,
    ]);
  });

  it("ignores a budget that is named like those of a workspace", () => {
    const { config, warnings } = resolve({ budget: [{ name: "workspace/all", amount: "1 USD" }] });
    assert.deepEqual(config.budgets, []);
    assert.deepEqual(warnings, [
      "budget[0].name: must not begin with workspace/, because the budgets of a workspace have such names; this budget is ignored",
    ]);
  });

  it("reads budgets, and ignores one that is invalid or has the name of another", () => {
    const july = { name: "july", amount: "25 USD", project: "shop", thresholds: [50n, 80n] };
    const { config, warnings } = resolve({
      budget: [july, { ...july, amount: "30 USD" }, { name: "b" }, { ...july, name: "c", modle: "x" }],
      budget_warnings: { desktop: false, command: ["/usr/bin/say"] },
    });
    assert.deepEqual(
      config.budgets.map(({ name, limit, thresholds, period }) => [name, limit, thresholds, period]),
      [["july", 25_000_000_000_000n, [50, 80], { kind: "month", zone: "UTC" }]],
    );
    assert.deepEqual(config.budgetWarnings, { desktop: false, command: ["/usr/bin/say"] });
    assert.deepEqual(warnings, [
      "budget[1].name: another budget has the name july; this budget is ignored",
      'budget[2].amount: must be written like "25 USD", "2M tokens" or "500 requests"; this budget is ignored',
      "budget[3].modle: is not a key of a budget (did you mean model?); this budget is ignored",
    ]);
  });

  it("ignores webhooks if it is unknown which projects are local-only", () => {
    for (const cloud of [3, { upload: "all" }, { upload: { per_project: 3 } }]) {
      const { config, warnings } = resolve({ webhooks: [aWebhook], cloud });
      assert.deepEqual(config.webhooks, []);
      assert.match(warnings.join("\n"), /^webhooks: .*nothing is sent until it is fixed$/m);
      const telemetry = { export: { endpoint: "https://otel.dev" } };
      assert.equal(resolve({ telemetry, cloud }).config.telemetry.export, null);
    }
  });

  it("reads several APIs, the base path and the price list of a host", () => {
    const { config, warnings } = resolve({
      providers: [
        {
          host: "gate.dev",
          provider: "corp",
          api: ["openai", "anthropic"],
          base_path: "/llm/",
          prices: "openai",
          billing: "plan",
        },
        { host: "x.dev", provider: "x", base_path: "/", prices: "" },
      ],
    });
    assert.deepEqual(warnings, []);
    assert.deepEqual(config.providers, [
      {
        host: "gate.dev",
        provider: "corp",
        api: ["openai", "anthropic"],
        basePath: "/llm",
        prices: "openai",
        billing: "plan",
      },
      { host: "x.dev", provider: "x", api: "openai" },
    ]);
  });

  it("reads TOML dates as texts", () => {
    const { config, warnings } = resolve({
      cloud: { bodies: { upload_from: new Date("2026-01-02T03:04:05.000Z") } },
      pricing: {
        operator: [{ provider: "p", model: "m", input: 1, output: 1, effective_from: new Date(Number.NaN) }],
      },
    });
    assert.deepEqual(config.cloud.bodies.uploadFrom, { kind: "instant", at: Date.UTC(2026, 0, 2, 3, 4, 5) });
    assert.deepEqual(warnings, ["pricing.operator[0].effective_from: must be a string; ignored"]);
  });

  it("says what to fix where the place of a key is known", () => {
    const raw = { proxy: { port: "x", prt: 1 }, api: { port: "y" } };
    const locate = (key: string) => (key.startsWith("proxy.") ? "line 2 of config.toml" : null);
    const { warnings } = resolveConfig(raw, { today, locate });
    assert.equal(warnings.length, 3);
    assert.match(warnings[0] ?? "", /^proxy\.port: .* Fix line 2 of config\.toml\.$/);
    assert.match(warnings[1] ?? "", /^api\.port: /);
    assert.doesNotMatch(warnings[1] ?? "", /Fix/);
    assert.match(warnings[2] ?? "", /^proxy\.prt: .* did you mean port\? Fix line 2 of config\.toml\.$/);
  });

  it("reads TOML dates for upload_from and for the first day of an operator's rate", () => {
    // The parser returns this for a local date: its `toISOString()` has no time.
    class LocalDate extends Date {
      override toISOString(): string {
        return super.toISOString().slice(0, 10);
      }
    }
    const day = new LocalDate(Date.UTC(2026, 0, 2));
    const { config, warnings } = resolve({
      cloud: { bodies: { upload_from: day } },
      pricing: { operator: [{ provider: "p", model: "m", input: 1, effective_from: day }] },
      azure: new Date(0),
    });
    assert.deepEqual(warnings, ["azure: must be a table; ignored"]);
    assert.deepEqual(config.cloud.bodies.uploadFrom, { kind: "instant", at: Date.UTC(2026, 0, 2) });
    assert.equal(config.pricing.operator[0]?.effectiveFrom, "2026-01-02");
  });

  it("reads root keys of the specification from their table too, with precedence for the root", () => {
    const key = "auto_classify_unknown_processes";
    const of = (raw: unknown) => resolve(raw).config.attribution.autoClassifyUnknownProcesses;
    assert.equal(of({ attribution: { [key]: false } }), false);
    assert.equal(of({ [key]: true, attribution: { [key]: false } }), true);
  });

  it("accepts a project named like a property of Object.prototype", () => {
    const { config } = resolve(JSON.parse('{"cloud":{"bodies":{"per_project":{"__proto__":false}}}}'));
    assert.deepEqual(Object.entries(config.cloud.bodies.perProject), [["__proto__", false]]);
  });

  it("reads the price list to pull from", () => {
    assert.equal(resolve({ pricing: { source: "litellm" } }).config.pricing.source, "litellm");
    const { config, warnings } = resolve({ pricing: { source: 5 } });
    assert.equal(config.pricing.source, null);
    assert.match(warnings[0] ?? "", /^pricing\.source: must be one of litellm, /);
  });

  it("warns about the expected type of each key, and uses the default", () => {
    const { config, warnings } = resolve({
      proxy: { host: 5, port: "8081" },
      api: { port: 8765n, dashboard_origins: "https://a.dev" },
      cloud: { bodies: { per_project: true } },
      pricing: { operator: {}, pull_url: 5, pull_interval: 6, source: "acme" },
      providers: [{ host: 1, provider: 2 }],
      log: { level: "loud" },
      [`${"k".repeat(70)}`]: 1,
    });
    assert.deepEqual(config, {
      ...resolve({}).config,
    });
    assert.deepEqual(warnings, [
      "proxy.host: must be a string; 127.0.0.1 is used",
      "proxy.port: must be a whole number; 8081 is used",
      "api.dashboard_origins: must be a list of strings; ignored",
      "cloud.bodies.per_project: must be a table; ignored",
      'pricing.pull_interval: must be a duration such as "6h"; ignored',
      "pricing.pull_url: must be a public https URL; ignored",
      "pricing.source: must be one of litellm, models.dev, genai-prices, openrouter, cloud; ignored",
      "pricing.operator: must be a list of tables; ignored",
      "providers[0].host: must be a string; ignored",
      "providers[0].provider: must be a string; ignored",
      "providers[0].host: must be a host name; this provider is ignored",
      "log.level: must be one of debug, info, warn, error; info is used",
      `${"k".repeat(70)}: is not a setting`,
    ]);
  });

  it("ignores a provider whose host no URL can have as it is written", () => {
    const written: Record<string, string | null> = {
      "999.1.1.1": null,
      "0x7f.1": "127.0.0.1",
      "a.example": "a.example",
    };
    const providers = ["999.1.1.1", "0x7f.1", "*.0x7f.1", "a.example", "*.a.example"].map((host) => ({
      host,
      provider: "p",
    }));
    const { config, warnings } = resolveConfig(
      { providers },
      { today: "2026-11-01", hostInUrl: (host) => written[host] ?? null },
    );
    assert.deepEqual(
      config.providers.map(({ host }) => host),
      ["a.example", "*.a.example"],
    );
    assert.deepEqual(warnings, [
      "providers[0].host: can't be part of a URL; this provider is ignored",
      "providers[1].host: must be written 127.0.0.1, as in URLs; this provider is ignored",
      "providers[2].host: must be written *.127.0.0.1, as in URLs; this provider is ignored",
    ]);
  });

  it("reads rates of context tiers", () => {
    const tiers = [{ above_tokens: 200_000, input: 3, output: true }];
    const { config, warnings } = resolve({
      pricing: { operator: [{ provider: "p", model: "m", input: 1, output: 2, tiers }] },
    });
    assert.deepEqual(warnings, [
      "pricing.operator[0].tiers[0].output: must be a price in USD per million tokens; ignored",
    ]);
    assert.deepEqual(
      config.pricing.operator[0]?.rates.tiers.map(({ aboveTokens, input, output }) => [
        aboveTokens,
        input,
        output,
      ]),
      [[200_000, 3_000_000, null]],
    );
  });

  it("treats a value that is not a table as an empty file", () => {
    assert.deepEqual(resolve(5).config, resolve({}).config);
    assert.deepEqual(resolve(null).warnings, []);
  });

  it("repeats no URL, because it may contain a password", () => {
    const { warnings } = resolve({
      cloud: { base_url: "https://u:hunter2@cloud.dev" },
      pricing: { pull_url: "https://u:hunter2@rates.dev" },
      api: { dashboard_origins: ["https://u:hunter2@a.dev"] },
    });
    assert.equal(warnings.length, 3);
    assert.ok(!warnings.join().includes("hunter2"));
  });

  const wrong: [
    what: string,
    raw: unknown,
    warning: RegExp,
    left: (c: ReturnType<typeof resolve>["config"]) => unknown,
    is: unknown,
  ][] = [
    [
      "a setting that is none",
      { proxy: { prot: 1 } },
      /^proxy\.prot: is not a setting; did you mean port\?$/,
      (c) => c.proxy.port,
      8081,
    ],
    ["an unknown table", { zzzzzzzz: {} }, /^zzzzzzzz: is not a setting$/, (c) => c.cloud.enabled, false],
    [
      "a wrong type",
      { cloud: { enabled: "yes" } },
      /^cloud\.enabled: must be true or false; false is used$/,
      (c) => c.cloud.enabled,
      false,
    ],
    ["a table that is none", { proxy: 5 }, /^proxy: must be a table; ignored$/, (c) => c.proxy.port, 8081],
    [
      "a port beyond the bound",
      { proxy: { port: 70_000 } },
      /70000 is outside 0 to 65535; 65535 is used/,
      (c) => c.proxy.port,
      65_535,
    ],
    [
      "a store cap above 1 MiB",
      { bodies: { max_body_bytes: 2_000_000 } },
      /1048576 is used/,
      (c) => c.bodies.maxBodyBytes,
      1_048_576,
    ],
    [
      "an upload cap above 1.4 MiB",
      { cloud: { bodies: { max_body_bytes_per_upload: 2_000_000 } } },
      /1468006 is used/,
      (c) => c.cloud.bodies.maxBodyBytesPerUpload,
      1_468_006,
    ],
    [
      "a retention of no day, which must not delete more than the default",
      { bodies: { retention_days: 0 } },
      /^bodies\.retention_days: 0 is outside 1 to 36500; 90 is used$/,
      (c) => c.bodies.retentionDays,
      90,
    ],
    [
      "a negative retention",
      { bodies: { retention_days: -1 } },
      /^bodies\.retention_days: -1 is outside 1 to 36500; 90 is used$/,
      (c) => c.bodies.retentionDays,
      90,
    ],
    [
      "a retention beyond the bound",
      { bodies: { retention_days: 100_000 } },
      /100000 is outside 1 to 36500; 36500 is used/,
      (c) => c.bodies.retentionDays,
      36_500,
    ],
    [
      "an interval below the floor",
      { pricing: { pull_interval: "5m" } },
      /is outside 1h to 24d; 1h is used/,
      (c) => c.pricing.pullIntervalMs,
      3_600_000,
    ],
    [
      "an interval without a unit",
      { pricing: { pull_interval: "5" } },
      /must be a duration such as/,
      (c) => c.pricing.pullIntervalMs,
      21_600_000,
    ],
    [
      "a pull address without TLS",
      { pricing: { pull_url: "http://rates.dev" } },
      /public https URL/,
      (c) => c.pricing.pullUrl,
      null,
    ],
    [
      "a preset that is none",
      { cloud: { upload: { preset: "all" } } },
      /one of minimal, standard, full; minimal is used/,
      (c) => c.cloud.upload.preset,
      "minimal",
    ],
    [
      "a kind of hash that is none",
      { cloud: { upload: { prompt_hash_kind: true } } },
      /prompt_hash_kind: must be one of auto, plain, keyed; keyed is used/,
      (c) => c.cloud.upload.promptHashKind,
      "keyed",
    ],
    [
      "an override that is none",
      { cloud: { upload: { latency_ms: 3 } } },
      /must be true or false; false is used/,
      (c) => c.cloud.upload.fields,
      { latency_ms: false },
    ],
    [
      "a malformed watermark",
      { cloud: { bodies: { upload_from: "soon" } } },
      /upload_from/,
      (c) => c.cloud.bodies.uploadFrom?.kind,
      "malformed",
    ],
    [
      "a project switch that is none",
      { cloud: { bodies: { per_project: { a: 1 } } } },
      /per_project\.a: must be true or false; false is used/,
      (c) => c.cloud.bodies.perProject,
      { a: false },
    ],
    [
      "a project rule that does not say",
      { cloud: { upload: { per_project: { a: { uplaod: true } } } } },
      /per_project\.a: must be true or false; false is used/,
      (c) => c.cloud.upload.perProject,
      { a: false },
    ],
    [
      "a project's name of which nothing is left",
      { cloud: { bodies: { per_project: { "!!": true } } } },
      /is not a valid project name; ignored/,
      (c) => c.cloud.bodies.perProject,
      {},
    ],
    [
      "a default project of which nothing is left",
      { attribution: { default_project: "!!" } },
      /is not a valid project name; misc is used/,
      (c) => c.attribution.defaultProject,
      "misc",
    ],
    [
      "an interval that no timer can hold",
      { pricing: { pull_interval: "30d" } },
      /is outside 1h to 24d; 24d is used/,
      (c) => c.pricing.pullIntervalMs,
      2_073_600_000,
    ],
    [
      "an origin that any page can have",
      { api: { dashboard_origins: ["null", "HTTPS://A.dev:443"] } },
      /an entry is not an https origin; ignored/,
      (c) => c.api.dashboardOrigins,
      ["https://a.dev"],
    ],
    [
      "an origin with a path",
      { api: { dashboard_origins: ["https://a.dev/x", "http://localhost:3000", "http://127.0.0.1:80"] } },
      /an entry is not an https origin; ignored/,
      (c) => c.api.dashboardOrigins,
      ["http://localhost:3000", "http://127.0.0.1"],
    ],
    [
      "a date that is none",
      { cloud: { bodies: { upload_from: new Date(Number.NaN) } } },
      /upload_from: must be now, none, a date or a datetime/,
      (c) => c.cloud.bodies.uploadFrom,
      null,
    ],
    [
      "an operator rate without a model",
      { pricing: { operator: [{ provider: "p", input: "1" }] } },
      /pricing\.operator\[0\]\.model/,
      (c) => c.pricing.operator,
      [],
    ],
    [
      "a host that is none",
      { providers: [{ host: "https://x/", provider: "x" }] },
      /providers\[0\]\.host/,
      (c) => c.providers,
      [],
    ],
    [
      "a nameless provider",
      { providers: [{ host: "x.dev" }] },
      /providers\[0\]\.provider/,
      (c) => c.providers,
      [],
    ],
    [
      "an API that is unknown",
      { providers: [{ host: "x.dev", provider: "x", api: ["openai", "soap"] }] },
      /providers\[0\]\.api: must be one of openai, .*, or a list of them; ignored/,
      (c) => c.providers,
      [{ host: "x.dev", provider: "x", api: "openai" }],
    ],
    [
      "a billing mode that is unknown",
      { providers: [{ host: "x.dev", provider: "x", billing: "credits" }] },
      /providers\[0\]\.billing: must be one of metered, plan, free, unknown; ignored/,
      (c) => c.providers,
      [{ host: "x.dev", provider: "x", api: "openai" }],
    ],
    [
      "a base path that is a URL",
      { providers: [{ host: "x.dev", provider: "x", base_path: "https://x.dev/llm" }] },
      /providers\[0\]\.base_path: must be a path such as \/llm; ignored/,
      (c) => c.providers,
      [{ host: "x.dev", provider: "x", api: "openai" }],
    ],
    [
      "an origin that is no text",
      { api: { dashboard_origins: [1] } },
      /an entry is not a string; ignored/,
      (c) => c.api.dashboardOrigins,
      [],
    ],
    [
      "a deployment that is no text",
      { azure: { deployments: { a: 1 } } },
      /azure\.deployments\.a/,
      (c) => c.azureDeployments,
      {},
    ],
    [
      "a redaction rule without a name",
      { redaction: { rules: [{ pattern: "x" }] } },
      /rules\[0\]\.name/,
      (c) => c.redactionRules,
      [],
    ],
    [
      "a redaction pattern that is none",
      { redaction: { rules: [{ name: "x", pattern: "(" }] } },
      /rules\[0\]\.pattern/,
      (c) => c.redactionRules,
      [],
    ],
    ...(
      [
        ["an endpoint without TLS", { endpoint: "http://otel.dev" }, /telemetry\.export\.endpoint/],
        ["an unknown signal", { signals: ["profiles"] }, /telemetry\.export\.signals/],
        ["unknown fields of an export", { fields: "all" }, /telemetry\.export\.fields/],
        ["a header with a line break", { headers: { a: "x\r\nb: c" } }, /telemetry\.export\.headers\.a/],
        ["a header of the transport", { headers: { Host: "x" } }, /telemetry\.export\.headers\.Host/],
      ] as const
    ).map(([what, given, warning]): (typeof wrong)[number] => [
      what,
      { telemetry: { export: { endpoint: "https://otel.dev", ...given } } },
      warning,
      (c) => c.telemetry.export,
      null,
    ]),
    [
      "a webhook without TLS",
      { webhooks: [{ ...aWebhook, ...{ url: "http://hooks.dev/" } }] },
      /webhooks\[0\]\.url/,
      (c) => c.webhooks,
      [],
    ],
    [
      "a webhook with an unknown event",
      { webhooks: [{ ...aWebhook, ...{ events: ["record.stored", "x"] } }] },
      /webhooks\[0\]\.events/,
      (c) => c.webhooks,
      [],
    ],
    [
      "a webhook without events",
      { webhooks: [{ ...aWebhook, ...{ events: [] } }] },
      /webhooks\[0\]\.events/,
      (c) => c.webhooks,
      [],
    ],
    [
      "a webhook without a secret",
      { webhooks: [{ ...aWebhook, ...{ secret: "short" } }] },
      /webhooks\[0\]\.secret/,
      (c) => c.webhooks,
      [],
    ],
    [
      "a webhook with unknown fields",
      { webhooks: [{ ...aWebhook, ...{ fields: "all" } }] },
      /webhooks\[0\]\.fields/,
      (c) => c.webhooks,
      [],
    ],
    [
      "a base address without TLS",
      { cloud: { base_url: "http://cloud.dev" } },
      /must be an https URL without credentials/,
      (c) => c.cloud.baseUrl,
      null,
    ],
  ];
  for (const [what, raw, warning, left, is] of wrong) {
    it(`warns about ${what} and continues`, () => {
      const { config, warnings } = resolve(raw);
      assert.equal(warnings.length, 1, warnings.join("\n"));
      assert.match(warnings[0] as string, warning);
      assert.deepEqual(left(config), is);
    });
  }

  const connected = { enabled: true, base_url: "https://cloud.dev" };
  const rulesUnread: [what: string, raw: object, says: RegExp][] = [
    [
      "cloud.upload that is no table",
      { cloud: { ...connected, upload: false } },
      /^cloud\.upload: cannot be read/,
    ],
    [
      "cloud.upload that is a preset's name",
      { cloud: { ...connected, upload: "minimal" } },
      /^cloud\.upload: cannot be read/,
    ],
    [
      "a list of projects",
      { cloud: { ...connected, upload: { per_project: ["secret"] } } },
      /^cloud\.upload: cannot be read; nothing is sent until it is fixed$/,
    ],
  ];
  for (const [what, raw, says] of rulesUnread) {
    it(`sends nothing if the rules that keep data here cannot be read: ${what}`, () => {
      const { config, warnings } = resolve(raw);
      assert.equal(config.cloud.enabled, false);
      assert.ok(
        warnings.some((each) => says.test(each)),
        warnings.join("\n"),
      );
    });
  }

  const bodyRulesUnread: [what: string, raw: object, says: RegExp][] = [
    [
      "a list of projects",
      { cloud: { bodies: { enabled: true, per_project: ["secret"] } } },
      /per_project cannot be read/,
    ],
    ...[5, { rules: { name: "x", pattern: "y" } }, { rules: [{ name: "x", pattern: "(a|b)" }] }].map(
      (redaction): [string, object, RegExp] => [
        `redaction ${JSON.stringify(redaction)}`,
        { cloud: { bodies: { enabled: true } }, redaction },
        /^cloud\.bodies: \[\[redaction\.rules\]\] cannot be read; no body is sent until it is fixed$/,
      ],
    ),
  ];
  for (const [what, raw, says] of bodyRulesUnread) {
    it(`sends no body if the rules that keep data here cannot be read: ${what}`, () => {
      const { config, warnings } = resolve(raw);
      assert.equal(config.cloud.bodies.enabled, false);
      assert.ok(
        warnings.some((each) => says.test(each)),
        warnings.join("\n"),
      );
    });
  }

  it("warns about an override of an unknown field, and suggests a known one", () => {
    assert.deepEqual(
      resolve({ cloud: { upload: { promt_hash: false, colour: true, prompt_hash: false } } }).warnings,
      [
        "cloud.upload.promt_hash: is not an upload field; did you mean prompt_hash?",
        "cloud.upload.colour: is not an upload field",
      ],
    );
  });

  // Planted and found: a section reader that trusted `Object.entries(null)`; an integer reader that accepted 1.5.
  it("never throws, and returns values within their bounds, for any file", () => {
    const keys = fc.constantFrom(
      "proxy",
      "cloud",
      "bodies",
      "upload",
      "pricing",
      "operator",
      "providers",
      "port",
      "host",
      "per_project",
      "pull_interval",
      "upload_from",
      "max_body_bytes",
      "retention_days",
      "rules",
      "redaction",
      "x",
    );
    const raw = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(null, true, 1.5, -1, 1e300, "", "now", Number.NaN, 5n),
        tie("table"),
        fc.array(tie("value"), { maxLength: 2 }),
      ),
      table: fc.dictionary(keys, tie("value"), { maxKeys: 5 }),
    })).value;
    fc.assert(
      fc.property(raw, (each) => {
        const { config } = resolve(each);
        assert.ok(
          config.proxy.port >= 0 && config.proxy.port <= 65_535 && Number.isInteger(config.proxy.port),
        );
        assert.ok(config.bodies.maxBodyBytes <= 1_048_576 && config.bodies.retentionDays >= 1);
        assert.ok(config.cloud.bodies.maxBodyBytesPerUpload <= 1_468_006);
        assert.ok(config.pricing.pullIntervalMs >= 3_600_000);
      }),
    );
  });
});

describe("resolveBaseUrl()", () => {
  const production = "https://cloud.meter.dev";
  const table: [stated: Parameters<typeof resolveBaseUrl>[0], url: string | null, warns: boolean][] = [
    [{}, production, false],
    [{ file: "" }, production, false],
    [{ flag: "https://a.dev", environment: "https://b.dev", file: "https://c.dev" }, "https://a.dev", false],
    [{ environment: "https://b.dev", file: "https://c.dev" }, "https://b.dev", false],
    [{ flag: "  ", file: "https://C.dev:8443/meter/" }, "https://c.dev:8443/meter", false],
    [{ file: "http://127.0.0.1:9000" }, "http://127.0.0.1:9000", false],
    [{ file: "http://localhost" }, "http://localhost", false],
    [{ file: "http://[::1]:80" }, "http://[::1]:80", false],
    [{ file: "http://cloud.dev" }, null, true],
    [{ file: "https://good@evil.dev" }, null, true],
    [{ file: "https://good#.evil.dev" }, null, true],
    [{ file: "https://a.dev:99999" }, null, true],
    [{ file: "https://." }, null, true],
    [{ file: "https://10.0.0.256" }, null, true],
    [{ file: "https://cloud.1" }, null, true],
    [{ file: "https://[::1::]" }, null, true],
    [{ file: "ftp://a.dev" }, null, true],
    ...[".test", ".example", ".invalid", ".local", ".TEST", ".local."].map(
      (suffix): [{ file: string }, string, boolean] => [{ file: `https://cloud${suffix}` }, production, true],
    ),
    [{ flag: "https://x.test" }, production, true],
    [{ environment: "https://x.test" }, production, true],
  ];
  for (const [stated, url, warns] of table) {
    it(`returns ${url} for ${JSON.stringify(stated)}`, () => {
      const found = resolveBaseUrl(stated, production);
      assert.equal(found.url, url);
      assert.equal(found.warning !== null, warns);
    });
  }

  it("treats a placeholder as not configured if there is no production URL", () => {
    assert.deepEqual(resolveBaseUrl({}), { url: null, warning: null });
    const rewritten = resolveBaseUrl({ file: "https://cloud.example" });
    assert.equal(rewritten.url, null);
    assert.match(rewritten.warning ?? "", /no cloud is configured/);
  });
});

describe("parseDuration()", () => {
  const table: [string, number | null][] = [
    ["6h", 21_600_000],
    ["90m", 5_400_000],
    ["1d12h", 129_600_000],
    ["30s", 30_000],
    ["6", null],
    ["h", null],
    ["", null],
    ["6 h", null],
    ["-6h", null],
    ["9999999h", null],
  ];
  for (const [text, ms] of table)
    it(`reads ${JSON.stringify(text)} as ${ms}`, () => assert.equal(parseDuration(text), ms));
});

describe("resolveConfig() of rules for projects", () => {
  /** The spellings of a few projects. */
  const spelling = fc
    .tuple(
      fc.constantFrom("web", "my-shop", "a/b"),
      fc.constantFrom<(slug: string) => string>(
        (slug) => slug,
        (slug) => slug.toUpperCase(),
        (slug) => ` ${slug} `,
        (slug) => slug.replace("-", " ! "),
        (slug) => `-${slug}--`,
        (slug) => `${slug[0]?.toUpperCase()}${slug.slice(1)}`,
      ),
    )
    .map(([slug, write]) => ({ slug, written: write(slug) }));
  const rules = fc.uniqueArray(fc.record({ name: spelling, isOn: fc.boolean(), isTable: fc.boolean() }), {
    selector: ({ name }) => name.written,
    maxLength: 12,
  });

  // Planted: the last spelling wins, and the first one; both failed at once.
  it("gives precedence to the rule that keeps data on this machine over other spellings of the project", () => {
    fc.assert(
      fc.property(rules, (given) => {
        const table = (upload: boolean) =>
          Object.fromEntries(
            given.map(({ name, isOn, isTable }) => [
              name.written,
              upload && isTable ? { upload: isOn } : isOn,
            ]),
          );
        const { config, warnings } = resolve({
          cloud: { bodies: { per_project: table(false) }, upload: { per_project: table(true) } },
        });
        const bySlug = Map.groupBy(given, ({ name }) => name.slug);
        const expected = Object.fromEntries(
          [...bySlug].map(([slug, all]) => [slug, all.every(({ isOn }) => isOn)]),
        );
        assert.deepEqual(config.cloud.upload.perProject, expected);
        assert.deepEqual(config.cloud.bodies.perProject, expected);
        const disagree = [...bySlug.values()].some((all) => new Set(all.map(({ isOn }) => isOn)).size > 1);
        assert.equal(warnings.length > 0, disagree, warnings.join("\n"));
      }),
    );
  });
});
