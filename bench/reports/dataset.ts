import { createHash } from "node:crypto";
import { NO_TOKENS } from "../../core/metering/usage/token-counts.ts";
import type { RequestRecord, TokenCounts } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import { uuidV7 } from "../../core/values/uuid.ts";

/** The models of the data set. */
const MODELS = [
  {
    provider: "anthropic",
    model: "claude-opus-4-5",
    api: "anthropic.messages",
    client: "claude",
    plan: true,
  },
  {
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    api: "anthropic.messages",
    client: "claude",
    plan: true,
  },
  {
    provider: "anthropic",
    model: "claude-haiku-4-5",
    api: "anthropic.messages",
    client: "claude",
    plan: true,
  },
  { provider: "codex", model: "gpt-5.1-codex", api: "openai.responses", client: "codex", plan: true },
  { provider: "openai", model: "gpt-5.1", api: "openai.responses", client: "node", plan: false },
  { provider: "openai", model: "gpt-5.1-mini", api: "openai.chat", client: "python", plan: false },
  { provider: "gemini", model: "gemini-3-pro", api: "gemini.generate", client: "gemini", plan: false },
  { provider: "openrouter", model: "qwen/qwen3-coder", api: "openai.chat", client: "opencode", plan: false },
] as const;

const DAY_MS = 86_400_000;

/** A generator of numbers in [0, 1) from a seed, so that every run has the same rows. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Describes the records to make. */
export interface Dataset {
  readonly requests: number;
  readonly days: number;
  /** The end of the last day. */
  readonly until: Millis;
  /**
   * Whether the calls are spread evenly over day and night and over all projects; otherwise a person works on one
   * project for a while.
   */
  readonly even: boolean;
}

/** The work of a person or an agent on one topic, in one project. */
interface WorkSession {
  readonly project: number;
  readonly model: number;
  readonly branch: string;
  readonly session: string;
}

type Pick = (count: number) => number;

function makeTokens(isAnthropic: boolean, pick: Pick): TokenCounts {
  return {
    promptTokens: 1 + pick(5_000),
    completionTokens: 1 + pick(2_000),
    cacheReadTokens: pick(100_000),
    cacheWriteTokens: isAnthropic ? pick(9_000) : null,
    cacheWrite1hTokens: isAnthropic ? 0 : null,
    thinkingTokens: isAnthropic ? null : pick(800),
  };
}

/** Returns when the call number `n` is made: evenly, or from 9 to 21, when people work. */
function timeOf(n: number, { requests, days, until, even }: Dataset): { day: number; requestedAt: Millis } {
  const share = n / requests;
  const day = Math.floor(share * days);
  const within = share * days - day;
  const from = until - days * DAY_MS;
  return {
    day,
    requestedAt: Math.floor(from + day * DAY_MS + (even ? within : 9 / 24 + within / 2) * DAY_MS),
  };
}

/** Starts a work session. A project has a new topic every ten days. */
function startWorkSession(n: number, day: number, random: () => number, pick: Pick): WorkSession {
  const [project, model] = [pick(20), pick(MODELS.length)];
  const branch = random() < 0.4 ? "main" : `topic-${project}-${Math.floor(day / 10)}`;
  return { project, model, branch, session: `session-${n}` };
}

/** Makes one record. The order of the random numbers decides the rows. */
function makeRecord(requestedAt: Millis, work: WorkSession, random: () => number, pick: Pick): RequestRecord {
  const other = random() < 0.3;
  const chosen = MODELS[other ? pick(MODELS.length) : work.model] as (typeof MODELS)[number];
  const failed = random() < 0.03;
  // The price of one model is unknown for some of its calls.
  const priced = !failed && (chosen.provider !== "openrouter" || random() > 0.05);
  const tokens = failed ? NO_TOKENS : makeTokens(chosen.provider === "anthropic", pick);
  const requestId = uuidV7(
    requestedAt,
    Uint8Array.from({ length: 10 }, () => pick(256)),
  );
  return {
    requestId,
    requestedAt,
    provider: chosen.provider,
    model: chosen.model,
    requestedModel: chosen.model,
    requestKind: "chat",
    streaming: random() < 0.8,
    tokens,
    tokensComplete: !failed,
    costPicoUsd: priced ? BigInt(pick(300_000_000)) * 1_000n : null,
    costSource: priced ? "computed" : "unpriced",
    billingMode: chosen.plan ? "plan" : "metered",
    providerCostPicoUsd: null,
    ratesSource: priced ? "bundled" : null,
    serviceTier: null,
    usageExtras: null,
    latencyMs: 800 + pick(20_000),
    ttfbMs: 300 + pick(900),
    httpStatus: failed ? 529 : 200,
    errorClass: failed ? "server_error" : null,
    providerErrorCode: failed ? "overloaded_error" : null,
    retryable: failed ? true : null,
    errorMessageHash: null,
    project: `project-${work.project}`,
    attributionTier: "git_root",
    promptHash: createHash("sha256").update(requestId).digest("hex"),
    method: "POST",
    path: "/v1/messages",
    sourceWorkdir: `/home/user/src/project-${work.project}`,
    host: `api.${chosen.provider}.com`,
    api: chosen.api,
    providerResponseId: `msg_${requestId}`,
    client: chosen.client,
    gitRemote: `github.com/user/project-${work.project}`,
    gitBranch: work.branch,
    gitCommit: null,
    pullRequest: null,
    sessionId: work.session,
    sessionSource: "header",
    agentId: other ? "agent" : null,
    parentAgentId: null,
    clientVersion: "1.0.0",
  } as unknown as RequestRecord;
}

/** Makes the records of a data set in order of time. */
export function* makeRecords(dataset: Dataset): Generator<RequestRecord> {
  const random = createRandom(1);
  const pick: Pick = (count) => Math.floor(random() * count);
  let work: WorkSession = { project: 0, model: 0, branch: "main", session: "0" };
  for (let n = 0; n < dataset.requests; n += 1) {
    const { day, requestedAt } = timeOf(n, dataset);
    if (dataset.even || random() < 0.02) work = startWorkSession(n, day, random, pick);
    yield makeRecord(requestedAt, work, random, pick);
  }
}
