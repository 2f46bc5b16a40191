import { parseDecimalToPico } from "../../pricing/decimal.ts";
import { MAX_COST_PICO_USD } from "../../pricing/money.ts";
import type { PriceBook } from "../../pricing/price-book.ts";
import { priceUsage } from "../../pricing/price-usage.ts";
import type { Sha256 } from "../../values/hash.ts";
import { hashText } from "../../values/hash-text.ts";
import type { CostSource, RateSource, RequestRecord } from "../../values/record.ts";
import { RECORD_FIELDS, UNKNOWN_FIELDS } from "../../values/record-fields.ts";
import { branchOf, readCommit } from "../attribution/git-head.ts";
import { normaliseRemote } from "../attribution/git-remote.ts";
import { withoutLocalRemote } from "../attribution/git-state.ts";
import { readStatedId, readStatedKind } from "../sessions/call-identity.ts";
import type { LogEntry } from "./log-entry.ts";
import { billingOfEntry, providerOfEntry } from "./log-provider.ts";

/** What a record needs besides its entry. */
export interface LogRecordFacts {
  readonly project: string;
  readonly attributionTier: string;
  /** The file of the entry. */
  readonly logFile: string;
  readonly prices: PriceBook;
  readonly sha256: Sha256;
}

/**
 * Returns the id of an entry's record: a UUID of version 8 (RFC 9562, section 5.8) from the agent and the key, so that the same
 * call has the same id in every import.
 */
export function logRecordId({ agent, key }: Pick<LogEntry, "agent" | "key">, sha256: Sha256): string {
  const hex = hashText(`${agent}\0${key}`, sha256);
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const within = (text: string | null, length: number) =>
  text !== null && text.length <= length ? text : null;

/** A version, as in a `User-Agent`. */
const VERSION = /^\d[\w.+-]{0,63}$/;

/** Claude Code writes `HEAD` as the branch if none is checked out. */
const readBranch = (branch: string | null) =>
  branch === null || branch === "HEAD" ? null : branchOf(`refs/heads/${branch}`);

/**
 * Returns the record of an entry. Ids and names follow the rules of those on the wire, so that one that is hostile is unknown. A log does not state what only the connection shows: latency, status and path. Source:
 * docs/specification.md#agents-own-logs.
 */
export function toLogRecord(entry: LogEntry, facts: LogRecordFacts): RequestRecord {
  const provider = providerOfEntry(entry);
  const billingMode = billingOfEntry(entry);
  const model = entry.model.slice(0, RECORD_FIELDS.model.maxCharacters);
  // The context tier applies to each call. Of a sum, only that it is several calls is known.
  const extras = entry.scope === "call" ? entry.extras : { ...entry.extras, model_calls: 2 };
  const usage = {
    provider,
    model,
    requestedModel: null,
    requestKind: "chat" as const,
    at: entry.at,
    tokens: entry.tokens,
    extras,
    serviceTier: entry.serviceTier,
    providerCostPicoUsd: null,
    billingMode,
  };
  const remote = entry.remote === null ? null : normaliseRemote(entry.remote);
  return {
    ...UNKNOWN_FIELDS,
    requestId: logRecordId(entry, facts.sha256),
    requestedAt: entry.at,
    provider,
    model,
    requestKind: "chat",
    streaming: false,
    tokens: entry.tokens,
    tokensComplete: entry.tokensComplete,
    ...costOf(entry, priceUsage(usage, facts.prices)),
    billingMode,
    serviceTier: entry.serviceTier,
    usageExtras: Object.keys(extras).length === 0 ? null : extras,
    latencyMs: 0,
    project: facts.project,
    attributionTier: facts.attributionTier,
    client: entry.agent,
    method: "",
    host: "",
    path: "",
    api: `logs.${entry.agent}`,
    sourceWorkdir: entry.cwd,
    providerResponseId: entry.responseId,
    sessionId: readStatedId(entry.session),
    sessionSource: readStatedId(entry.session) === null ? null : "stated",
    turnId: readStatedId(entry.turn),
    agentId: readStatedId(entry.agentId),
    agentKind: readStatedKind(entry.agentKind),
    clientVersion: VERSION.test(entry.clientVersion ?? "") ? entry.clientVersion : null,
    gitBranch: readBranch(entry.branch),
    gitCommit: entry.commit === null ? null : readCommit(entry.commit),
    gitRemote: within(withoutLocalRemote(remote), RECORD_FIELDS.gitRemote.maxCharacters),
    recordSource: "logs",
    logFile: facts.logFile,
    logLine: entry.line,
  };
}

/** Decision: the agent's own figure is an estimate, and is used only if no rate is known. */
function costOf(
  { statedCostUsd }: LogEntry,
  { costPicoUsd, costSource, ratesSource }: ReturnType<typeof priceUsage>,
): { costPicoUsd: bigint | null; costSource: CostSource; ratesSource: RateSource | null } {
  const stated = costPicoUsd !== null || statedCostUsd === null ? null : parseDecimalToPico(statedCostUsd);
  return stated === null || stated > MAX_COST_PICO_USD
    ? { costPicoUsd, costSource, ratesSource }
    : { costPicoUsd: stated, costSource: "estimated", ratesSource: null };
}
