import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../cli/home/database-file.ts";
import type { RunningTime } from "../../core/metering/coverage/running-times.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import { openStore } from "../../daemon/store/open-store.ts";
import type { CoverageCount } from "../../daemon/store/port/coverage.ts";
import { sampleRecord } from "../daemon/store/sample-records.rig.ts";
import { createHome } from "../end-to-end/meter-process.rig.ts";

const HOUR_MS = 3_600_000;

const models = [
  ["anthropic", "claude-sonnet-4-5", 9_400_000_000n],
  ["anthropic", "claude-haiku-4-5", 1_100_000_000n],
  ["openai", "gpt-5-mini", 2_300_000_000n],
  ["google", "gemini-2.5-flash", 640_000_000n],
  ["ollama", "qwen3:30b-a3b-instruct-2507-q4_K_M", null],
] as const;
const projects = ["acme-web", "acme-web", "billing-service", "research/notes", "misc"];
const clients = ["claude", "codex", "python3", "node", null];

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
    const [provider, model, cost] = models[(n * 7) % models.length] as (typeof models)[number];
    const failed = n % 41 === 0;
    const factor = BigInt(1 + ((n * n) % 37));
    const age = Math.floor((n ** 1.15 * 1.05 + (n % 5)) * HOUR_MS * 0.55) + 60_000;
    const isOff = age >= OFF[0][1] * HOUR_MS && age < OFF[0][0] * HOUR_MS;
    return sampleRecord({
      requestedAt: now - age + (isOff ? 2 * 24 * HOUR_MS : 0),
      provider,
      model,
      requestedModel: model,
      project: projects[(n * 3) % projects.length] as string,
      client: clients[n % clients.length] as string | null,
      tokens: {
        promptTokens: failed ? null : 800 + ((n * 131) % 9_000),
        cacheReadTokens: failed ? null : (n * 977) % 60_000,
        cacheWriteTokens: failed ? null : (n * 53) % 4_000,
        cacheWrite1hTokens: null,
        completionTokens: failed ? null : 40 + ((n * 17) % 2_200),
        thinkingTokens: null,
      },
      costPicoUsd: failed || cost === null ? null : cost * factor,
      costSource: failed || cost === null ? "unpriced" : "computed",
      httpStatus: failed ? 429 : 200,
      errorClass: failed ? "rate_limit" : null,
      latencyMs: 300 + ((n * 997) % 70_000),
    });
  }).toReversed();
}

const MINUTE_MS = 60_000;

/** Sessions of an agent with sub-agents, whose context grows until it is compacted. */
export function sampleSessions(now: number): RequestRecord[] {
  return Array.from({ length: 6 }, (_, s) => {
    const began = now - (s * 27 + 2) * HOUR_MS;
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
        costPicoUsd: BigInt(inAgent ? 9_000 + n * 130 : 61_000 + context) * 1_000_000n,
        latencyMs,
        ttfbMs: 400 + ((n * 131) % 1_100),
        httpStatus: n % 31 === 30 ? 529 : 200,
        errorClass: n % 31 === 30 ? "server_error" : null,
      });
    });
  }).flat();
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
    store.insertBatch({ records, bodies: [], coverage: sampleCoverage(records, now) });
    for (const run of sampleRuns(now)) store.coverage.saveRun(run);
  } finally {
    store.close();
  }
  return home;
}
