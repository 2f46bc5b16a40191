import type { Browser, BrowserContext, BrowserContextOptions } from "playwright-core";
import { createManualClock } from "../../adapters/clock/manual-clock.ts";
import { serve } from "../../adapters/http/serve.ts";
import { seedRates } from "../../cloud/store/rates.ts";
import { summariseCoverage } from "../../core/metering/coverage/coverage-summary.ts";
import type { RandomBytes } from "../../core/ports/random.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { effectiveBilling } from "../../core/values/billing.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { MAX_COVERAGE_ITEMS } from "../../core/wire/coverage.ts";
import { batch, createRig, json, record, START } from "../cloud/kit/cloud-rig.ts";
import { pagesEngine } from "../cloud/kit/engines.ts";
import { sendBody } from "../cloud/kit/stored-body.ts";
import { HOST, openApi, sampleStatus } from "../daemon/api/api.rig.ts";
import { sampleSettings } from "../daemon/page/sample-settings.rig.ts";
import { sampleRecord } from "../daemon/store/sample-records.rig.ts";
import { removeHome, startMeter } from "../end-to-end/meter-process.rig.ts";
import { createSeededRandom } from "../simulation/seeded-random.ts";
import { BROWSER_PATIENCE_MS } from "./chromium.rig.ts";
import {
  createFilledHome,
  fillStore,
  sampleCoverage,
  sampleMonths,
  sampleRuns,
  sampleSessions,
} from "./sample-home.rig.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A running daemon or cloud with requests of two months. */
export interface PageHostRig {
  readonly name: "local" | "cloud";
  readonly origin: string;
  /** The path below which the pages with navigation are. */
  readonly base: string;
  /** Pages that the navigation does not name, by their name. */
  readonly more: Readonly<Record<string, string>>;
  /** Opens a browser context, signed in as a person who sees every page. */
  open(browser: Browser, options?: BrowserContextOptions): Promise<BrowserContext>;
  close(): Promise<void>;
}

/** Names that break out of markup, attributes, scripts and columns. */
export const HOSTILE = `"'><img src=x onerror=alert(1)><b>a-long-name-without-a-space`;

const hostileRecord = (now: number) =>
  sampleRecord({
    requestedAt: now - 2 * HOUR_MS,
    ...{ model: HOSTILE, requestedModel: HOSTILE, project: HOSTILE, client: HOSTILE, provider: "anthropic" },
    ...{ gitBranch: HOSTILE, costPicoUsd: null, costSource: "unpriced" as const },
  });

/** Starts a daemon. With `withHostile`, some of its names are hostile. */
export async function startLocalHost(withHostile: boolean): Promise<PageHostRig> {
  const now = Date.now();
  const sessions = sampleSessions(now);
  const hostile = hostileRecord(now);
  const records = [...sampleMonths(now), ...sessions, ...(withHostile ? [hostile] : [])];
  const home = await createFilledHome(
    [
      "[proxy]",
      "port = 0",
      "[api]",
      "port = 0",
      "[[budget]]",
      'name = "month"',
      'amount = "200 USD"',
      'period = "month"',
    ],
    records.sort((one, other) => one.requestedAt - other.requestedAt),
    now,
  );
  const meter = await startMeter(home);
  const session = sessions.at(-1);
  const request = withHostile ? hostile : session;
  return {
    name: "local",
    origin: `http://127.0.0.1:${meter.apiPort}`,
    base: "",
    more: {
      session: `/sessions/${session?.sessionId}`,
      request: `/requests/${request?.requestId}`,
      chart: "/explore?view=chart&by=client",
      comparison: "/models?as=openai/gpt-5&models=unused&q=gpt-5",
      none: "/requests?project=none-such",
    },
    open: (browser, options) => browser.newContext(options),
    async close() {
      await meter.stop();
      removeHome(home);
    },
  };
}

/**
 * Opens the pages of a daemon with the requests of the cloud, at the same time. It runs in this process, so its clock stands still.
 * The zone of the process must be UTC.
 */
export async function startStillLocalHost(): Promise<PageHostRig> {
  const sessions = sampleSessions(START);
  const records = [...sampleMonths(START), ...sessions];
  const store = { ...sampleStatus.store, dropped: {} };
  const api = await openApi({
    ...{ clock: createManualClock(START), settings: async () => sampleSettings() },
    state: () => ({ ...sampleStatus, store }),
  });
  fillStore(
    api.store,
    records.sort((one, other) => one.requestedAt - other.requestedAt),
    START,
  );
  return {
    name: "local",
    origin: `http://${HOST}`,
    base: "",
    more: {
      session: `/sessions/${sessions.at(-1)?.sessionId}`,
      request: `/requests/${sessions.at(-1)?.requestId}`,
      chart: "/explore?view=chart&by=client",
      comparison: "/models?as=openai/gpt-5&models=unused&q=gpt-5",
    },
    async open(browser, options) {
      const context = await browser.newContext(options);
      await context.route("**/*", async (route) => {
        const { pathname, search } = new URL(route.request().url());
        // A stream of events does not end, and here it does not begin: the page waits for it.
        if (pathname === "/v1/events") return;
        let answer = await api.ask(pathname + search);
        // A fulfilled route can't redirect.
        const target = answer.headers.get("location");
        if (target !== null) answer = await api.ask(target);
        const body = Buffer.from(await answer.arrayBuffer());
        await route.fulfill({ status: answer.status, headers: Object.fromEntries(answer.headers), body });
      });
      return context;
    },
    close: async () => api.close(),
  };
}

/** Converts a record of a machine to the one that it sends. */
function toSent(id: string, each: RequestRecord): Record<string, unknown> {
  const { tokens } = each;
  return record(id, {
    requested_at: new Date(each.requestedAt).toISOString(),
    ...{ provider: each.provider, model: each.model, project: each.project },
    ...{ prompt_tokens: tokens.promptTokens, completion_tokens: tokens.completionTokens },
    ...{ cache_read_tokens: tokens.cacheReadTokens, cache_write_tokens: tokens.cacheWriteTokens },
    ...{
      thinking_tokens: tokens.thinkingTokens,
      tokens_complete: each.tokensComplete,
      prompt_hash: each.promptHash,
      billing_mode: effectiveBilling(each),
    },
    ...{ latency_ms: Math.round(each.latencyMs), ttfb_ms: each.ttfbMs, http_status: each.httpStatus },
    ...{ error_class: each.errorClass, git_branch: each.gitBranch ?? null },
    attribution_tier: each.attributionTier,
    ...(each.sessionId == null
      ? {}
      : { session_id: each.sessionId.slice(-12).padStart(32, "5"), session_source: each.sessionSource }),
    ...(each.agentId == null
      ? {}
      : { agent_id: each.agentId.replace(/\D/g, "").padStart(32, "a"), agent_kind: each.agentKind }),
  });
}

/** Reports what the machine counted, and when it ran. */
async function stateCoverage(
  send: (body: unknown) => Promise<Response>,
  records: readonly RequestRecord[],
): Promise<void> {
  const byHour = Map.groupBy(sampleCoverage(records, START), ({ at }) => Math.floor(at / HOUR_MS) * HOUR_MS);
  const hours = [...byHour].map(([hour, counts]) => {
    const { metered, seen } = summariseCoverage(counts);
    const byKind = [...Map.groupBy(counts, ({ kind }) => kind)];
    const sums = byKind.map(([kind, own]) => ({
      kind,
      count: own.reduce((all, { count }) => all + count, 0),
    }));
    return { hour: new Date(hour).toISOString(), metered, seen, counts: sums };
  });
  const runs = sampleRuns(START).map(({ from, to }) => ({
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
  }));
  const stated = { daemon_version: "1", as_of: new Date(START).toISOString(), queued: 0 };
  for (let at = 0; at < hours.length; at += MAX_COVERAGE_ITEMS) {
    const part = hours.slice(at, at + MAX_COVERAGE_ITEMS);
    const answer = await send({ ...stated, hours: part, runs });
    if (answer.status !== 200) throw new Error(await answer.text());
  }
}

/** Returns bytes that are the same in every run. So are then ids, and the order of what has them. */
function createSameBytes(): RandomBytes {
  const random = createSeededRandom("pages");
  return (count) => Uint8Array.from({ length: count }, () => random.integer(0, 255));
}

/** Starts a cloud with one workspace, of which the person owns the organisation. */
export async function startCloudHost(withHostile: boolean): Promise<PageHostRig> {
  let app: { fetch: Parameters<typeof serve>[0] } | null = null;
  const served = await serve(
    (request, peer) => app?.fetch(request, peer) ?? new Response(null, { status: 503 }),
    { host: "127.0.0.1", port: 0 },
  );
  const origin = `http://127.0.0.1:${served.port}`;
  const config = { baseUrl: origin, rateLimits: { perKey: 1e6, perUser: 1e6 } };
  const rig = await createRig(pagesEngine(), { config, randomBytes: createSameBytes() });
  // The same as those of a daemon, in place of the rig's own, so that requests cost the same.
  await rig.db.deleteFrom("pricing_rates").execute();
  await seedRates(rig.db, loadBundledRates(), START);
  app = rig.app(config);
  const workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
  const owner = await rig.personIn(workspace, "organisationOwner", "Olga Novák");
  await rig.addMember(workspace, owner.userId, "admin");
  const path = `/v1/workspaces/${workspace.id}`;
  const sessions = sampleSessions(START);
  const records = [...sampleMonths(START), ...sessions, ...(withHostile ? [hostileRecord(START)] : [])];
  const ids = new Map(records.map((each) => [each, rig.uuid()]));
  for (let at = 0; at < records.length; at += 100) {
    const sent = records.slice(at, at + 100).map((each) => toSent(ids.get(each) ?? "", each));
    const answer = await json(rig.call("POST", "/v1/requests/batch", workspace.token, batch(...sent)));
    if (answer.accepted !== sent.length) throw new Error(JSON.stringify(answer).slice(0, 500));
  }
  await stateCoverage((body) => rig.call("POST", "/v1/daemon/coverage", workspace.token, body), records);
  const seen = { provider: "anthropic", account: "c".repeat(32), unit: "share" };
  const at = (hours: number) => new Date(START + hours * HOUR_MS).toISOString();
  await rig.call("POST", "/v1/daemon/limits", workspace.token, {
    daemon_version: "1",
    readings: [
      {
        ...seen,
        seen_at: at(-0.1),
        window: "5h",
        window_ms: 5 * HOUR_MS,
        used_ppm: 620_000,
        reset_at: at(2),
      },
      {
        ...seen,
        seen_at: at(-0.1),
        window: "7d",
        window_ms: 7 * DAY_MS,
        used_ppm: 310_000,
        reset_at: at(60),
      },
    ],
  });
  for (const [name, budget] of [
    ["all", { subject: "workspace", amount: "500 USD", period: "month" }],
    [
      "acme-web",
      { subject: "project", target: "acme-web", amount: "1 USD", period: "day", at_limit: "block" },
    ],
  ] as const)
    await rig.call("POST", `${path}/budgets`, owner.token, { name, ...budget });
  for (let n = 0; n < 3; n += 1) {
    const userId = await rig.addPerson(
      ["Ann O'Hara", "Bo Lindqvist-Fernández de la Vega", withHostile ? HOSTILE : "Chidi"][n],
    );
    await rig.addMember(workspace, userId);
    const machineId = await rig.addMachine(
      workspace,
      ["ann-laptop", "ci-7.build.example.com", "bo-desktop"][n],
    );
    await rig.addKey(workspace, { userId, machineId });
    await rig.call("POST", `${path}/invitations`, owner.token, {
      email: `guest-${n}@example.com`,
      role: "member",
    });
  }
  const requestId = ids.get(sessions.at(-1) as RequestRecord) ?? "";
  await sendBody(
    rig,
    workspace,
    requestId,
    JSON.stringify({ messages: [{ role: "user", content: "Fix it." }] }),
  );
  await rig.call("GET", `/v1/traces/${requestId}/body?reason=An+incident`, owner.token);
  const base = `/w/${workspace.id}`;
  const session = sessions.at(-1)?.sessionId?.slice(-12).padStart(32, "5");
  return {
    name: "cloud",
    origin,
    base,
    more: {
      session: `${base}/sessions/${session}`,
      request: `${base}/requests/${requestId}`,
      chart: `${base}/explore?view=chart&by=person`,
      comparison: `${base}/models?as=openai/gpt-5&models=unused&q=gpt-5`,
      none: `${base}/requests?project=none-such`,
      "audit-views": `${base}/audit/prompt-views`,
      "audit-requests": `${base}/audit/requests`,
      "audit-verification": `${base}/audit/verification?run=now`,
      account: "/account",
      organisation: `/organisations/${workspace.organisationId}`,
      connect: "/connect",
    },
    async open(browser, options) {
      const context = await browser.newContext(options);
      await context.addCookies([{ name: "session", value: owner.token, url: origin }]);
      return context;
    },
    async close() {
      await served.close(0);
      await rig.close();
    },
  };
}

/** Returns all pages of a host by name: those of its navigation and its further ones. */
export async function listPages(
  browser: Browser,
  host: PageHostRig,
): Promise<readonly (readonly [name: string, path: string])[]> {
  const context = await host.open(browser);
  try {
    context.setDefaultTimeout(BROWSER_PATIENCE_MS);
    const page = await context.newPage();
    await page.goto(`${host.origin}${host.base || "/"}`);
    const links = (await page.evaluate(
      `[...document.querySelectorAll('.side > nav a')].map((each) => [each.textContent, each.getAttribute("href")])`,
    )) as [string, string][];
    return [
      ...links.map(([name, href]) => [name.toLowerCase(), href] as const),
      ...Object.entries(host.more),
    ];
  } finally {
    await context.close();
  }
}
