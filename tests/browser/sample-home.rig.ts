import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../cli/home/database-file.ts";
import type { RunningTime } from "../../core/metering/coverage/running-times.ts";
import { type LimitReading, unknownLimit } from "../../core/metering/limits/stated-limit.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { explainRequest } from "../../core/pricing/explain-request.ts";
import { createPriceBook } from "../../core/pricing/price-book.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { openStore } from "../../daemon/store/open-store.ts";
import type { CoverageCount } from "../../daemon/store/port/coverage.ts";
import type { Store } from "../../daemon/store/port/store.ts";
import { sampleRecord } from "../daemon/store/sample-records.rig.ts";
import { createHome } from "../end-to-end/meter-process.rig.ts";

const HOUR_MS = 3_600_000;

const models = [
  ["anthropic", "claude-sonnet-4-5"],
  ["anthropic", "claude-haiku-4-5"],
  ["openai", "gpt-5-mini"],
  ["google", "gemini-2.5-flash"],
  ["ollama", "qwen3:30b-a3b-instruct-2507-q4_K_M"],
] as const;
const book = createPriceBook(loadBundledRates());

/** Adds the cost by the bundled rates, which a cloud computes too. */
function withCost(record: RequestRecord): RequestRecord {
  const { costPicoUsd, costSource } = explainRequest(record, book).priced;
  return { ...record, costPicoUsd, costSource };
}

const projects = ["acme-web", "acme-web", "billing-service", "research/notes", "misc"];
const clients = ["claude", "codex", "python3", "node", null];

/** What a provider stated with its last response. */
const sampleLimits = (now: number): LimitReading[] =>
  (
    [
      ["5h", 5, 2, 620_000],
      ["7d", 7 * 24, 60, 310_000],
    ] as const
  ).map(([window, hours, left, usedPpm]) => ({
    ...unknownLimit(window, hours * HOUR_MS),
    ...{ provider: "anthropic", account: "c".repeat(32), seenAt: now - 6 * 60_000 },
    ...{ usedPpm, resetAt: now + left * HOUR_MS },
  }));

/** When the meter did not run: two whole days, and some hours. No request began in the former. */
const OFF = [
  [13 * 24, 11 * 24],
  [5 * 24 + 3, 5 * 24],
] as const;

/** Returns when the meter ran. */
export function sampleRuns(now: number): RunningTime[] {
  const edges = [70 * 24, ...OFF.flat(), 0].map((hours) => now - hours * HOUR_MS);
  return edges.flatMap((from, n) => (n % 2 === 0 ? [{ from, to: edges[n + 1] ?? now }] : []));
}

/** Returns what the meter counted: each request, and calls that it missed or read in part. */
export function sampleCoverage(records: readonly RequestRecord[], now: number): CoverageCount[] {
  const openai = { host: "api.openai.com" };
  const call = { method: "POST", path: "/v1/a_rather_long/path/{id}/with_many_words/and_segments" };
  return [
    ...records.map(({ requestedAt }): CoverageCount => {
      return { at: requestedAt, host: "api.anthropic.com", kind: "metered", count: 1 };
    }),
    { ...openai, at: now - HOUR_MS, kind: "unknown_path", count: 4, call },
    { ...openai, at: now - 8 * 24 * HOUR_MS, kind: "unknown_path", count: 2, call },
    { ...openai, at: now - 3 * 24 * HOUR_MS, kind: "tunnelled_http2_only", count: 2 },
    { ...openai, at: now - HOUR_MS, kind: "without_usage", count: 3 },
  ];
}

/** Two months of work, the same in every run except for the date. */
export function sampleMonths(now: number): RequestRecord[] {
  return Array.from({ length: 900 }, (_, n) => {
    const [provider, model] = models[(n * 7) % models.length] as (typeof models)[number];
    const failed = n % 41 === 0;
    const age = Math.floor((n ** 1.15 * 1.05 + (n % 5)) * HOUR_MS * 0.55) + 60_000;
    const project = projects[(n * 3) % projects.length] as string;
    const isOff = age >= OFF[0][1] * HOUR_MS && age < OFF[0][0] * HOUR_MS;
    return sampleRecord({
      requestedAt: now - age + (isOff ? 2 * 24 * HOUR_MS : 0),
      provider,
      model,
      requestedModel: model,
      project,
      attributionTier: project === "misc" ? "default_project" : n % 7 === 0 ? "header" : "git_root",
      client: clients[n % clients.length] as string | null,
      tokens: {
        promptTokens: failed ? null : 9_000 + ((n * 1_310) % 90_000),
        cacheReadTokens: failed ? null : (n * 9_770) % 300_000,
        cacheWriteTokens: failed ? null : (n * 530) % 20_000,
        cacheWrite1hTokens: null,
        completionTokens: failed ? null : 200 + ((n * 170) % 9_200),
        thinkingTokens: null,
      },
      usageExtras: null,
      // Each tenth request repeats an earlier prompt.
      promptHash: (n % 10 === 0 ? n % 3 : n + 3).toString(16).padStart(64, "0"),
      httpStatus: failed ? 429 : 200,
      errorClass: failed ? "rate_limit" : null,
      latencyMs: 300 + ((n * 997) % 70_000),
    });
  })
    .map(withCost)
    .toReversed();
}

const MINUTE_MS = 60_000;

/** Sessions of an agent with sub-agents, whose context grows until it is compacted. */
export function sampleSessions(now: number): RequestRecord[] {
  return Array.from({ length: 6 }, (_, s) => {
    const began = now - s * 27 * HOUR_MS - 45 * MINUTE_MS;
    const isPlan = s % 3 === 1;
    return Array.from({ length: 20 + 14 * ((s * 5) % 7) }, (_, n) => {
      const inAgent = n % 9 > 5;
      const context = inAgent ? 9_000 + (n % 9) * 4_000 : 14_000 + ((n * 3_700) % 150_000);
      const isCold = n % 17 === 0;
      const latencyMs = 1_500 + ((n * 797) % 21_000);
      return sampleRecord({
        requestedAt: began + n * 47_000 + (isCold ? 6 * MINUTE_MS : 0),
        model: inAgent ? "claude-haiku-4-5-20251001" : "claude-opus-4-5-20251101",
        requestedModel: inAgent ? "claude-haiku-4-5" : "claude-opus-4-5",
        project: ["apollo", "hermes", "acme-web"][s % 3] as string,
        gitBranch: ["main", "fix-login", "feature/usage-pages"][s % 3] as string,
        client: s % 2 === 0 ? "claude" : "codex",
        clientVersion: "2.0.14",
        sessionId: `0b6e52ac-7d1f-4f0e-9a3c-1f2e3d4c5b${(10 + s).toString()}`,
        sessionSource: s === 4 ? "inferred" : "stated",
        agentId: inAgent ? `agent-${Math.floor(n / 9)}` : null,
        agentKind: inAgent ? (["Explore", "reviewer", "Plan"][Math.floor(n / 9) % 3] as string) : null,
        billingMode: isPlan ? "plan" : "metered",
        tokens: {
          promptTokens: isCold ? context : 700 + (n % 5) * 300,
          cacheReadTokens: isCold ? 0 : context,
          cacheWriteTokens: 900 + ((n * 71) % 2_000),
          cacheWrite1hTokens: 0,
          completionTokens: 120 + ((n * 37) % 1_900),
          thinkingTokens: null,
        },
        usageExtras: null,
        promptHash: (10_000 + s * 1_000 + n).toString(16).padStart(64, "0"),
        latencyMs,
        ttfbMs: 400 + ((n * 131) % 1_100),
        httpStatus: n % 31 === 30 ? 529 : 200,
        errorClass: n % 31 === 30 ? "server_error" : null,
      });
    });
  })
    .flat()
    .map(withCost);
}

/** Stores records, what the meter counted, when it ran, and what a provider stated. */
export function fillStore(store: Store, records: readonly RequestRecord[], now: number): void {
  store.insertBatch({ records, bodies: [], coverage: sampleCoverage(records, now) });
  store.limits.save(sampleLimits(now).map((reading) => ({ reading, isPoint: true })));
  for (const run of sampleRuns(now)) store.coverage.saveRun(run);
}

/** Creates a home with a configuration and these records, as an earlier daemon left it. */
export async function createFilledHome(
  config: readonly string[],
  records: readonly RequestRecord[],
  now: number,
): Promise<string> {
  const home = createHome(config);
  const store = await openStore(createSqliteOpener(), databaseFile(home));
  try {
    fillStore(store, records, now);
  } finally {
    store.close();
  }
  return home;
}
