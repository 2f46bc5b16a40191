import { describeResult } from "../../core/delivery/retry/cloud-result.ts";
import type { CloudClientResult } from "../../core/ports/cloud-client.ts";
import { isPullUrlAllowed, judgePull } from "../../core/pricing/guard.ts";
import { createPriceBook } from "../../core/pricing/price-book.ts";
import type { RateProblem } from "../../core/pricing/published-rates.ts";
import type { RateRow } from "../../core/pricing/rates.ts";
import { chooseSource, type PullSource } from "../../core/pricing/sources/choose-source.ts";
import { publishedRatesSchema } from "../../core/wire/pricing-rates.ts";
import { decodeStrictUtf8 } from "../../core/wire/utf8.ts";
import { parseResponse, readConnection, requestCloud, requestWithoutToken } from "./connection.ts";
import type { CloudServicePorts, CloudSettings } from "./ports.ts";
import { applyPriceList, type PriceListResult } from "./pull-price-list.ts";
import { savePullFailure, savePullSuccess, saveSourcePull } from "./pull-state.ts";
import type { RatesRequest, RefreshRatesResult } from "./results.ts";

/** The key of the ETag of the last pulled rates, which is stored with its URL. */
const ETAG_KEY = "rates_etag";

/** How long a pull may take, in milliseconds. */
const PULL_TIMEOUT_MS = 60_000;

/**
 * Pulls rates once, over https only: from a public price list or `pull_url` without a token, or from the cloud with the
 * token. Of a public list, it stores what the guard accepts; of the others, all rates of the response or none. Source:
 * docs/specification.md#cloud-accounts-and-keys, item 3, and "Limits".
 */
export async function refreshRates(
  ports: CloudServicePorts,
  request: RatesRequest = {},
): Promise<RefreshRatesResult> {
  const connection = await readConnection(ports);
  const { settings } = connection;
  const { list, dryRun = false } = request;
  if (list !== undefined && "text" in list.from)
    return applyPriceList(ports, settings, { ...list, text: list.from.text }, { dryRun });
  const source: PullSource | null =
    list !== undefined && "url" in list.from
      ? { kind: "list", name: list.name, url: list.from.url, format: list.format }
      : chooseSource(settings.pricing, request.source ?? null);
  if (source === null) return { kind: "unknown_source" };
  const url =
    source.kind !== "cloud"
      ? source.url
      : connection.credentials === null
        ? null
        : `${connection.credentials.baseUrl}/v1/pricing/rates`;
  if (url === null) return { kind: "not_configured" };
  if (!isPullUrlAllowed(url)) {
    ports.log.warn("pricing.pull_failed", { reason: "not_https", http_status: null });
    savePullFailure(ports.store.notes, { at: ports.clock.now(), error: "the address is not https" });
    return { kind: "not_https" };
  }
  return source.kind === "list"
    ? await pullPublicList(ports, settings, { source, isConfigured: list === undefined, dryRun })
    : await pullPublishedRates(ports, connection, { from: source.kind, url, dryRun });
}

/** Pulls a public price list. The pull counts for the schedule unless it is of a list that no setting names. */
async function pullPublicList(
  ports: CloudServicePorts,
  settings: CloudSettings,
  options: {
    readonly source: Extract<PullSource, { kind: "list" }>;
    readonly isConfigured: boolean;
    readonly dryRun: boolean;
  },
): Promise<RefreshRatesResult> {
  const { store, clock, log } = ports;
  const { source, isConfigured, dryRun } = options;
  const etagKey = `${ETAG_KEY}:${source.name}`;
  const ifNoneMatch = dryRun || !isConfigured ? null : readStoredEtag(store.notes.read(etagKey), source.url);
  const response = await requestWithoutToken(ports, source.url, { ifNoneMatch, timeoutMs: PULL_TIMEOUT_MS });
  const now = clock.now();
  const succeed = (): void => {
    if (!isConfigured || dryRun) return;
    savePullSuccess(store.notes, now);
    saveSourcePull(store.notes, source.name, now);
  };
  if (response.kind === "http" && response.status === 304 && ifNoneMatch !== null) {
    succeed();
    return { kind: "not_modified", from: source.name };
  }
  if (response.kind === "transport" || response.status !== 200)
    return failed(ports, response, { isSaved: isConfigured && !dryRun });
  const text = decodeStrictUtf8(response.body);
  const result: PriceListResult =
    text === null
      ? { kind: "unreadable", problem: "is not UTF-8" }
      : applyPriceList(ports, settings, { name: source.name, format: source.format, text }, { dryRun });
  if (result.kind === "listed" && result.stored) {
    store.notes.write(etagKey, response.etag === null ? null : JSON.stringify([source.url, response.etag]));
    succeed();
  } else if (!dryRun && isConfigured) {
    const problem = result.kind === "unreadable" ? result.problem : result.verdict.rejected;
    savePullFailure(store.notes, { at: now, error: `the list of ${source.name} was rejected: ${problem}` });
    log.warn("pricing.pull_invalid", { reason: "rejected_list", provider: null, model: null });
  }
  return result;
}

/** Pulls rates in the meter's own format, from the cloud or from `pull_url`. */
async function pullPublishedRates(
  ports: CloudServicePorts,
  { settings, credentials }: Awaited<ReturnType<typeof readConnection>>,
  source: { readonly from: "cloud" | "pull_url"; readonly url: string; readonly dryRun: boolean },
): Promise<RefreshRatesResult> {
  const { store, clock, log } = ports;
  const { from, dryRun } = source;
  const ifNoneMatch = dryRun ? null : readStoredEtag(store.notes.read(ETAG_KEY), source.url);
  const response =
    source.from === "cloud" && credentials !== null
      ? await requestCloud(ports, credentials, "/v1/pricing/rates", {
          ifNoneMatch,
          timeoutMs: PULL_TIMEOUT_MS,
        })
      : await requestWithoutToken(ports, source.url, { ifNoneMatch, timeoutMs: PULL_TIMEOUT_MS });
  const now = clock.now();
  if (response.kind === "http" && response.status === 304 && ifNoneMatch !== null) {
    savePullSuccess(store.notes, now);
    return { kind: "not_modified", from: source.from };
  }
  if (response.kind === "transport" || response.status !== 200)
    return failed(ports, response, { isSaved: !dryRun });
  if (dryRun) {
    const text = decodeStrictUtf8(response.body) ?? "";
    return applyPriceList(ports, settings, { name: from, format: "meter", text }, { dryRun });
  }
  const pull = parseResponse(response, publishedRatesSchema);
  if (pull === null) {
    log.warn("pricing.pull_invalid", { reason: "invalid_answer", provider: null, model: null });
    return saveFailure(ports, { kind: "transport", reason: "invalid_answer" });
  }
  const book = createPriceBook([...ports.bundledRates(), ...store.rates.read()]);
  const verdict = judgePull(pull, book, now);
  if (!verdict.ok) {
    const [first] = verdict.problems;
    savePullFailure(store.notes, { at: now, error: describeProblems(verdict.problems) });
    log.warn("pricing.pull_invalid", {
      reason: first?.field.replaceAll(/[^\w.:-]+/g, "_") ?? "unknown",
      provider: first?.provider ?? null,
      model: first?.model ?? null,
    });
    return { kind: "invalid", problems: verdict.problems };
  }
  const today = new Date(now).toISOString().slice(0, 10);
  const origin = { name: from, retrievedOn: today };
  const ofOthers = store.rates.read().filter((row) => row.source === "auto" && isPublicList(row));
  store.rates.replace("auto", [...ofOthers, ...verdict.rows.map((row) => ({ ...row, origin }))], now);
  saveSourcePull(store.notes, from, now);
  store.notes.write(ETAG_KEY, response.etag === null ? null : JSON.stringify([source.url, response.etag]));
  savePullSuccess(store.notes, now);
  ports.ratesChanged();
  log.info("pricing.pulled", { rates: verdict.rows.length, from: source.from });
  return {
    kind: "updated",
    rates: verdict.rows.length,
    publishedAt: pull.published_at,
    from: source.from,
  };
}

/** Whether a row is from a public list. A pull in the meter's own format replaces all others. */
function isPublicList({ origin }: RateRow): boolean {
  return origin !== undefined && origin.name !== "cloud" && origin.name !== "pull_url";
}

/** Describes the first problem and counts the others. */
function describeProblems(problems: readonly RateProblem[]): string {
  const [first, ...more] = problems;
  if (first === undefined) return "rejected";
  const { provider, model, field, problem } = first;
  return `rejected: ${provider} ${model}, ${field}: ${problem}${more.length > 0 ? `, and ${more.length} more` : ""}`;
}

function failed(
  ports: CloudServicePorts,
  reply: CloudClientResult,
  { isSaved }: { readonly isSaved: boolean },
): RefreshRatesResult {
  const httpStatus = reply.kind === "http" ? reply.status : null;
  const reason = reply.kind === "http" ? `http_${reply.status}` : reply.reason;
  ports.log.warn("pricing.pull_failed", { reason, http_status: httpStatus });
  return saveFailure(ports, reply, isSaved);
}

function saveFailure(
  { store, clock }: CloudServicePorts,
  reply: CloudClientResult,
  isSaved = true,
): RefreshRatesResult {
  const error = describeResult(reply);
  if (isSaved) savePullFailure(store.notes, { at: clock.now(), error });
  return { kind: "failed", httpStatus: reply.kind === "http" ? reply.status : null, error };
}

/** Returns the stored ETag if it is from this URL. */
function readStoredEtag(stored: string | null, url: string): string | null {
  if (stored === null) return null;
  try {
    const [from, tag] = JSON.parse(stored) as [string, string];
    return from === url ? tag : null;
  } catch {
    return null;
  }
}
