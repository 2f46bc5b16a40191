import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  auditEventsSchema,
  promptViewReasonSchema,
  promptViewRequestSchema,
  promptViewResponseSchema,
  promptViewSchema,
  promptViewsSchema,
} from "../../../core/wire/audit.ts";
import { checkoutConsentResponseSchema, checkoutConsentSchema } from "../../../core/wire/consent.ts";
import { whoamiSchema } from "../../../core/wire/daemon.ts";
import { daemonTotalsSchema } from "../../../core/wire/daemon-totals.ts";
import {
  fleetBudgetCreatedSchema,
  fleetBudgetsSchema,
  fleetBudgetTermsSchema,
  liftFleetBudgetSchema,
  machineBudgetsSchema,
  newFleetBudgetSchema,
} from "../../../core/wire/fleet-budgets.ts";
import {
  cloudStateSchema,
  connectRequestSchema,
  connectResponseSchema,
  connectStatusSchema,
  healthSchema,
  statusSchema,
} from "../../../core/wire/loopback.ts";
import {
  formatPairingCode,
  normalisePairingCode,
  pairingDecisionSchema,
  pairingPollRequestSchema,
  pairingPollResponseSchema,
  pairingStartRequestSchema,
  pairingStartResponseSchema,
} from "../../../core/wire/pairing.ts";
import { parseWire, type WireSchema } from "../../../core/wire/parse.ts";
import { publishedRatesSchema } from "../../../core/wire/pricing-rates.ts";
import { problemSchema } from "../../../core/wire/problem-details.ts";
import {
  analyticsQuerySchema,
  auditEventsQuerySchema,
  daemonTotalsQuerySchema,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  periodQuerySchema,
  promptViewsQuerySchema,
  traceBodyQuerySchema,
  tracesQuerySchema,
} from "../../../core/wire/queries.ts";
import { analyticsSchema, optimisationSchema, overviewSchema } from "../../../core/wire/reports.ts";
import {
  advancedSettingsPatchSchema,
  advancedSettingsSchema,
  deletionResponseSchema,
  settingsPatchSchema,
  settingsSchema,
} from "../../../core/wire/settings.ts";
import { traceBodySchema, traceSchema, tracesSchema } from "../../../core/wire/traces.ts";
import { deliveredTotalsSchema } from "../../../core/wire/usage-totals.ts";

const id = "01994b8e-7c00-7000-8000-000000000000";
const at = "2026-11-21T10:00:00.000Z";
const hash = "a".repeat(64);
const delivered = {
  requests: 1,
  prompt_tokens: 2,
  completion_tokens: 3,
  cache_read_tokens: 4,
  cache_write_tokens: 5,
  thinking_tokens: 6,
  cost_pico_usd: "700",
  reported_cost_pico_usd: "800",
};
const { reported_cost_pico_usd: _reported, ...tokensAndCost } = delivered;
const totals = {
  ...tokensAndCost,
  ...{ failed_requests: 0, blocked_requests: 0, unpriced_requests: 0, incomplete_requests: 0 },
  ...{ spent_pico_usd: "400", plan_usage_pico_usd: "200", unknown_billing_pico_usd: "100" },
};
const period = { from: at, to: at, clamped_from: null };
const summary = {
  request_id: id,
  requested_at: at,
  received_at: at,
  clock_skewed: false,
  provider: "openai",
  model: "gpt-5",
  request_kind: "chat",
  streaming: false,
  project: "shop",
  user: { id: "u1", name: "Ann" },
  machine: { id: "m1", hostname: "laptop" },
  prompt_tokens: 1,
  completion_tokens: 1,
  cache_read_tokens: null,
  cache_write_tokens: null,
  thinking_tokens: null,
  tokens_complete: true,
  cost_pico_usd: "5",
  reported_cost_pico_usd: "5",
  billing_mode: "metered",
  latency_ms: 5,
  ttfb_ms: 1,
  http_status: 200,
  error_class: null,
};
const trace = {
  ...summary,
  requested_model: null,
  cache_write_1h_tokens: null,
  cost_source: "computed",
  provider_cost_pico_usd: null,
  rates_source: "bundled",
  service_tier: null,
  usage_extras: null,
  provider_error_code: null,
  retryable: null,
  blocked_by: null,
  attribution_tier: "git_root",
  session_id: "5e".repeat(16),
  session_source: "stated",
  turn_id: null,
  agent_id: null,
  parent_agent_id: null,
  agent_kind: null,
  client_version: null,
  git_branch: null,
  git_commit: null,
  git_remote: null,
  pull_request: null,
  record_source: null,
  prompt_hash: hash,
  prompt_hash_kind: "plain",
  method: null,
  path: null,
  source_workdir: null,
};
const promptView = {
  workspace_id: "w1",
  seq: 1,
  view_id: "v1",
  request_id: id,
  viewer_user_id: "u1",
  subject_user_id: "u2",
  consent_grant_id: null,
  reason: "incident",
  viewed_at: at,
  client_ip: "192.0.2.1",
  user_agent: "browser",
  request_sha256: hash,
  response_sha256: null,
  prev_hash: hash,
  hash,
};
const rate = { input: "1.25", output: "10", cache_read: null, cache_write: null, cache_write_1h: null };

const fleetTerms = {
  ...{ amount: "25 USD", period: "month", zone: "Europe/Berlin", thresholds: [50, 80, 100] },
  ...{ at_limit: "block", reserve: false, fail: "open" },
};
const statedBudget = {
  ...{ name: "team", subject: "workspace", target: null, ...fleetTerms },
  ...{ paused: false, lifted_until: null, period_from: at },
};

/** Each payload of the specification: the name of the endpoint, the schema, and an example that is read unchanged. */
const payloads: readonly [what: string, schema: WireSchema<unknown>, payload: Record<string, unknown>][] = [
  [
    "GET /v1/daemon/whoami",
    whoamiSchema,
    {
      workspace: { id: "w1", name: "Acme", plan: "solo", store_prompt_content: false },
      machine: { id: "m1", hostname: "laptop" },
      user: { id: "u1", name: "Ann" },
      key: { prefix: "mtr_sync_ab", scope: "sync", created_at: at },
      server_time: at,
    },
  ],
  [
    "POST …/budgets",
    newFleetBudgetSchema,
    { name: "team", subject: "project", target: "apollo", ...fleetTerms },
  ],
  ["201 of a new budget", fleetBudgetCreatedSchema, { id: "b1" }],
  ["PATCH …/budgets/:id", fleetBudgetTermsSchema, fleetTerms],
  ["POST …/budgets/:id/lift", liftFleetBudgetSchema, { minutes: 60, reason: "release day" }],
  [
    "GET …/budgets",
    fleetBudgetsSchema,
    {
      items: [
        {
          ...{ id: "b1", ...statedBudget, target_name: null, unit: "usd", limit: "25000000000000" },
          ...{ spent: "0", used_percent: 0, period_to: at, calls: 0, unpriced_calls: 0 },
        },
      ],
    },
  ],
  [
    "GET /v1/daemon/budgets",
    machineBudgetsSchema,
    { budgets: [{ ...statedBudget, here: "1", elsewhere: "2" }] },
  ],
  [
    "POST /v1/pairing/start",
    pairingStartRequestSchema,
    { fingerprint: "0".repeat(32), hostname: "laptop", platform: "linux", daemon_version: "0.4.0" },
  ],
  [
    "201 of pairing start",
    pairingStartResponseSchema,
    {
      code: "ABCD-2345",
      poll_token: "t",
      verification_url: "https://c/connect",
      expires_in: 600,
      interval: 2,
    },
  ],
  ["POST /v1/pairing/poll", pairingPollRequestSchema, { poll_token: "t" }],
  ["200 of a poll, pending", pairingPollResponseSchema, { status: "pending" }],
  ["200 of a poll, failed", pairingPollResponseSchema, { status: "failed" }],
  [
    "200 of a poll, approved",
    pairingPollResponseSchema,
    {
      status: "approved",
      sync_token: "mtr_sync_x",
      workspace: { id: "w1", name: "Acme" },
      user: { id: "u1", name: "Ann" },
      prompt_hash_key: hash,
    },
  ],
  [
    "POST /v1/pairing/approve",
    pairingDecisionSchema,
    { code: "ABCD-2345", workspace_id: "w1", user_id: null },
  ],
  [
    "GET /v1/pricing/rates",
    publishedRatesSchema,
    {
      published_at: at,
      unit: "usd_per_million_tokens",
      rates: [
        {
          provider: "openai",
          model: "gpt-5",
          ...rate,
          tiers: [{ above_tokens: 200_000, ...rate }],
          effective_from: "2026-01-01",
          thinking: "4",
          per_request: null,
          extras: { web_search_requests: "10000" },
          service_tiers: { flex: { ...rate, tiers: null } },
          daily: { from: "00:30:00", to: "16:30:00", weekdays_only: true },
        },
      ],
    },
  ],
  [
    "GET /v1/reconciliation/daemon-totals",
    daemonTotalsSchema,
    {
      from_date: "2026-11-20",
      to_date: "2026-11-21",
      days: [
        { date: "2026-11-20", ...delivered, models: [{ provider: "openai", model: "gpt-5", ...delivered }] },
      ],
      totals: delivered,
    },
  ],
  [
    "GET …/overview",
    overviewSchema,
    {
      ...period,
      clamped_from: at,
      totals,
      days: [{ start: at, ...totals }],
      projects: [{ key: "shop", label: "shop", ...totals }],
      models: [{ key: null, label: "other", ...totals }],
      unpriced_models: [{ provider: "acme", model: "m", requests: 2 }],
    },
  ],
  [
    "GET …/analytics",
    analyticsSchema,
    {
      ...period,
      by: "user",
      bucket: "hour",
      totals,
      groups: [{ key: "u1", label: "Ann", ...totals, buckets: [{ start: at, ...totals }] }],
    },
  ],
  [
    "GET …/optimisation",
    optimisationSchema,
    {
      ...period,
      findings: [
        {
          kind: "repeated_prompt_uncached",
          provider: "openai",
          model: "gpt-5",
          project: null,
          requests: 5,
          cost_pico_usd: "50",
          unknown_billing_pico_usd: "20",
          saving_pico_usd: null,
          summary: "The same prompt was sent 5 times.",
        },
      ],
    },
  ],
  ["GET …/traces", tracesSchema, { ...period, items: [summary], next_cursor: "abc" }],
  ["GET …/traces/{request_id}", traceSchema, trace],
  [
    "GET /v1/traces/{request_id}/body",
    traceBodySchema,
    {
      request_id: id,
      request: {
        ...{ content_type: "application/json", text: "{}", original_size_bytes: 2, truncated: false },
        ...{ version: 2, sha256: hash, stored_at: at },
      },
      response: null,
      redaction_applied: true,
      redaction_summary: ["jwt"],
      captured_at: at,
      earlier_versions: [{ direction: "request", version: 1, sha256: hash, size_bytes: 2, stored_at: at }],
    },
  ],
  [
    "GET …/settings",
    settingsSchema,
    { id: "w1", name: "Acme", plan: "team", store_prompt_content: true, reporting_zone: "Europe/Berlin" },
  ],
  ["200 of a deletion", deletionResponseSchema, { deleted_at: at, purge_due_at: at }],
  ["PATCH …/settings", settingsPatchSchema, { store_prompt_content: true }],
  [
    "GET …/settings/advanced",
    advancedSettingsSchema,
    { data_retention_days: 365, audit_log_retention_days: 3650 },
  ],
  ["PATCH …/settings/advanced", advancedSettingsPatchSchema, { data_retention_days: 1 }],
  [
    "POST /v1/audit/prompt-views",
    promptViewRequestSchema,
    {
      workspace_id: "w1",
      request_id: id,
      viewer_user_id: "u1",
      subject_user_id: "u2",
      consent_grant_id: "g1",
      reason: "incident",
      viewed_at: at,
      client_ip: "192.0.2.1",
      user_agent: "browser",
    },
  ],
  ["201 of a prompt view", promptViewResponseSchema, { view_id: "v1", viewed_at: at }],
  ["one row of the ledger", promptViewSchema, promptView],
  [
    "GET …/audit/prompt-views",
    promptViewsSchema,
    { clamped_from: null, items: [promptView], next_cursor: null },
  ],
  [
    "GET …/audit/events",
    auditEventsSchema,
    {
      clamped_from: null,
      items: [
        {
          event_id: "e1",
          at,
          kind: "settings_changed",
          actor_user_id: "u1",
          details: { field: "store_prompt_content", to: true, count: 1, from: null },
          retain_until: at,
        },
      ],
      next_cursor: null,
    },
  ],
  [
    "POST /v1/consent/checkout",
    checkoutConsentSchema,
    { plan: "team", period: "annual", wording_hash: hash, agreed_terms: true, agreed_immediate: true },
  ],
  ["201 of a consent", checkoutConsentResponseSchema, { id: "c1", timestamp: at }],
  ["loopback GET /health", healthSchema, { status: "ok", version: "0.4.0", started_at: at }],
  [
    "loopback GET /health of a daemon in trouble",
    healthSchema,
    { status: "degraded", version: "0.4.0", started_at: at },
  ],
  [
    "loopback GET /v1/cloud/state",
    cloudStateSchema,
    { paired: true, version: "0.4.0", hostname: "laptop", port: 8765 },
  ],
  ["loopback POST /v1/cloud/connect", connectRequestSchema, { force: true }],
  ["200 of connect", connectResponseSchema, { code: "ABCD-2345", verification_url: null }],
  [
    "loopback GET /v1/cloud/connect/status",
    connectStatusSchema,
    {
      status: "polling",
      code: "ABCD-2345",
      verification_url: "https://c",
      workspace_name: null,
      message: null,
    },
  ],
  [
    "a problem (RFC 9457)",
    problemSchema,
    {
      type: "about:blank",
      title: "Forbidden",
      status: 403,
      code: "plan_required",
      detail: "…",
      required_plan: "team",
      floor: null,
      errors: [{ field: "from", problem: "…" }],
    },
  ],
];

describe("the payloads", () => {
  for (const [what, schema, payload] of payloads) {
    it(`${what} is read unchanged`, () => {
      assert.deepEqual(parseWire(schema, payload), { ok: true, value: payload });
    });
    it(`${what} is read without what a newer sender adds`, () => {
      const parsed = parseWire(schema, { ...payload, added_later: 1, workspace_secret: "x" });
      assert.deepEqual(parsed, { ok: true, value: payload });
    });
    it(`${what} survives JSON`, () => {
      assert.deepEqual(parseWire(schema, JSON.parse(JSON.stringify(payload))), {
        ok: true,
        value: payload,
      });
    });
    for (const odd of [null, 5, "text"]) {
      it(`${what} is not read from ${JSON.stringify(odd)}`, () => assert.ok(!parseWire(schema, odd).ok));
    }
  }
});

describe("a field with an invalid format", () => {
  const wrong: readonly [what: string, schema: WireSchema<unknown>, payload: unknown][] = [
    ["retention days below 1", advancedSettingsPatchSchema, { data_retention_days: 0 }],
    ["retention days above 3650", advancedSettingsPatchSchema, { audit_log_retention_days: 3651 }],
    ["retention days in halves", advancedSettingsPatchSchema, { data_retention_days: 1.5 }],
    ["a change of nothing", advancedSettingsPatchSchema, {}],
    ["a change of what is unknown", advancedSettingsPatchSchema, { plan: "enterprise" }],
    ["an approval without a token", pairingPollResponseSchema, { status: "approved" }],
    ["an unknown status", pairingPollResponseSchema, { status: "maybe" }],
    [
      "a fingerprint of 31 digits",
      pairingStartRequestSchema,
      { fingerprint: "0".repeat(31), hostname: "h", platform: "p", daemon_version: "0" },
    ],
    ["an unknown plan", checkoutConsentSchema, { plan: "gold", period: "annual", wording_hash: hash }],
    ["an unknown period", checkoutConsentSchema, { plan: "solo", period: "weekly", wording_hash: hash }],
    ["a cost with a point", deliveredTotalsSchema, { ...delivered, cost_pico_usd: "1.0" }],
    ["minus zero", deliveredTotalsSchema, { ...delivered, cost_pico_usd: "-0" }],
    [
      "a date that does not exist",
      daemonTotalsSchema,
      { from_date: "2026-02-30", to_date: "2026-03-01", days: [], totals: delivered },
    ],
    ["a port beyond 65535", cloudStateSchema, { paired: true, version: "0", hostname: "h", port: 65_536 }],
  ];
  for (const [what, schema, payload] of wrong) {
    it(`refuses ${what}`, () => assert.equal(parseWire(schema, payload).ok, false));
  }
});

describe("optional fields", () => {
  it("an older daemon's pairing start has no fingerprint", () => {
    const parsed = parseWire(pairingStartRequestSchema, {
      hostname: "h",
      platform: "linux",
      daemon_version: "0.2.2",
    });
    assert.ok(parsed.ok && parsed.value.fingerprint === null);
  });
  it("a fingerprint may be null, and its digits of either case are the same machine's", () => {
    const start = { hostname: "h", platform: "linux", daemon_version: "0.2.13" };
    const read = (fingerprint: string | null) => {
      const parsed = parseWire(pairingStartRequestSchema, { ...start, fingerprint });
      return parsed.ok ? parsed.value.fingerprint : "refused";
    };
    assert.equal(read(null), null);
    assert.equal(read("0123456789ABCDEF0123456789abcdef"), "0123456789abcdef0123456789abcdef");
    for (const wrong of ["0".repeat(31), "0".repeat(33), "g".repeat(32), ""])
      assert.equal(read(wrong), "refused", wrong);
  });
  it("a plan that this daemon does not know leaves whoami valid", () => {
    const [, schema, payload] = payloads[0] as (typeof payloads)[number];
    const workspace = { id: "w1", name: "Acme", plan: "galactic", store_prompt_content: false };
    assert.ok(parseWire(schema, { ...payload, workspace, machine: undefined }).ok);
  });
  it("an absent tick counts as not ticked", () => {
    const parsed = parseWire(checkoutConsentSchema, {
      plan: "solo",
      period: "monthly",
      wording_hash: hash,
    });
    assert.ok(parsed.ok && !parsed.value.agreed_terms && !parsed.value.agreed_immediate);
  });
  it("the ids, time and address of a view and a consent are not read from the request", () => {
    const asked = { workspace_id: "w1", request_id: id, subject_user_id: "u2", reason: " why " };
    const parsed = parseWire(promptViewRequestSchema, asked);
    assert.ok(parsed.ok && parsed.value.viewer_user_id === null && parsed.value.viewed_at === null);
    const [, schema, consent] = payloads.find(
      ([what]) => what === "POST /v1/consent/checkout",
    ) as (typeof payloads)[number];
    const forged = { ...consent, user_id: "u9", ip: "1.2.3.4", timestamp: at, user_agent: "x" };
    assert.deepEqual(parseWire(schema, forged), { ok: true, value: consent });
  });
  it("a problem has at least a status and a code", () => {
    const parsed = parseWire(problemSchema, { status: 404, code: "not_found" });
    assert.ok(parsed.ok && parsed.value.type === "about:blank" && parsed.value.errors === null);
  });
  it("the daemon's status keeps additional fields", () => {
    const status = {
      version: "0",
      started_at: at,
      proxy: { port: 1, counters: { lost: 0 } },
      api: { port: 2 },
      warnings: [],
      store: {},
    };
    assert.deepEqual(parseWire(statusSchema, status), { ok: true, value: status });
  });
});

describe("the reason of a prompt view", () => {
  const reasons: readonly [why: string, reason: unknown, ok: boolean][] = [
    ["one character", "a", true],
    ["2000 characters", "x".repeat(2000), true],
    ["2000 characters of two units each", "\u{1F600}".repeat(2000), true],
    ["2000 characters and blanks around them", ` ${"x".repeat(2000)}\n`, true],
    ["2001 characters", "x".repeat(2001), false],
    ["none", "", false],
    ["blanks", " \t\n", false],
    ["U+0000", "a\0", false],
    ["no text", 5, false],
  ];
  for (const [why, reason, ok] of reasons) {
    it(`${ok ? "takes" : "refuses"} ${why}`, () => {
      assert.equal(parseWire(promptViewReasonSchema, reason).ok, ok);
    });
  }
  it("is trimmed", () => {
    assert.deepEqual(parseWire(promptViewReasonSchema, "  why "), { ok: true, value: "why" });
  });
});

describe("the queries", () => {
  it("have their defaults", () => {
    assert.deepEqual(parseWire(tracesQuerySchema, {}), {
      ok: true,
      value: {
        from: null,
        to: null,
        project: null,
        model: null,
        provider: null,
        status: null,
        billing: null,
        session: null,
        machine: null,
        user: null,
        q: null,
        sort: null,
        cursor: null,
        limit: PAGE_SIZE_DEFAULT,
      },
    });
    const analytics = parseWire(analyticsQuerySchema, { by: "model" });
    assert.ok(analytics.ok && analytics.value.bucket === "day");
    assert.ok(parseWire(periodQuerySchema, {}).ok);
    assert.deepEqual(parseWire(traceBodyQuerySchema, {}), {
      ok: true,
      value: {
        workspace_id: null,
        reason: null,
        view_id: null,
        request_version: null,
        response_version: null,
      },
    });
    assert.ok(parseWire(promptViewsQuerySchema, { viewer: "u1" }).ok);
    assert.ok(parseWire(auditEventsQuerySchema, { limit: "200" }).ok);
    assert.ok(parseWire(daemonTotalsQuerySchema, { from_date: "2026-01-01", to_date: "2026-01-02" }).ok);
  });
  const limits: readonly [limit: string, read: number | null][] = [
    ["1", 1],
    [String(PAGE_SIZE_MAX), PAGE_SIZE_MAX],
    [String(PAGE_SIZE_MAX + 1), null],
    ["0", null],
    ["-1", null],
    ["1e2", null],
    ["1000", null],
    ["", null],
  ];
  for (const [limit, read] of limits) {
    it(`read limit ${JSON.stringify(limit)} as ${read}`, () => {
      const parsed = parseWire(tracesQuerySchema, { limit });
      assert.equal(parsed.ok ? parsed.value.limit : null, read);
    });
  }
  for (const [status, ok] of [
    ["ok", true],
    ["failed", true],
    ["429", true],
    ["42", false],
    ["all", false],
  ] as const) {
    it(`${ok ? "take" : "refuse"} status ${status}`, () => {
      assert.equal(parseWire(tracesQuerySchema, { status }).ok, ok);
    });
  }
  it("reject analytics by any other dimension", () => {
    assert.ok(!parseWire(analyticsQuerySchema, { by: "prompt_hash" }).ok);
  });
});

describe("normalisePairingCode()", () => {
  const cases: readonly [typed: string, code: string | null][] = [
    ["ABCD-2345", "ABCD2345"],
    ["abcd 2345", "ABCD2345"],
    ["abcd2345", "ABCD2345"],
    ["oIl1-2345", "01112345"],
    ["ABCU-2345", null],
    ["ABCD-234", null],
    ["ABCD-23456", null],
    ["", null],
    [`${" ".repeat(60)}ABCD2345`, null],
  ];
  for (const [typed, code] of cases) {
    it(`reads ${JSON.stringify(typed.trim())} as ${code}`, () =>
      assert.equal(normalisePairingCode(typed), code));
  }
  it("is shown in two groups", () => assert.equal(formatPairingCode("ABCD2345"), "ABCD-2345"));
  it("is checked in an approval", () => {
    assert.ok(!parseWire(pairingDecisionSchema, { code: "12", workspace_id: "w1" }).ok);
  });
});
