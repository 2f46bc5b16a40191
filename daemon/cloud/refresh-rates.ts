import { describeResult } from "../../core/delivery/retry/cloud-result.ts";
import type { CloudClientResult } from "../../core/ports/cloud-client.ts";
import { isPullUrlAllowed, judgePull } from "../../core/pricing/guard.ts";
import { createPriceBook } from "../../core/pricing/price-book.ts";
import type { RateProblem } from "../../core/pricing/published-rates.ts";
import { publishedRatesSchema } from "../../core/wire/pricing-rates.ts";
import { parseResponse, readConnection, requestCloud, requestWithoutToken } from "./connection.ts";
import type { CloudServicePorts } from "./ports.ts";
import { savePullFailure, savePullSuccess } from "./pull-state.ts";
import type { RefreshRatesResult } from "./results.ts";

/** The key of the ETag of the last pulled rates, which is stored with its URL. */
const ETAG_KEY = "rates_etag";

/** How long a pull may take, in milliseconds. */
const PULL_TIMEOUT_MS = 60_000;

/**
 * Pulls rates once, over https only: from `pull_url` without a token, or else from the cloud with the token. Takes either all
 * rates of the response or none. Source: docs/specification.md#cloud-accounts-and-keys, item 3, and "Limits".
 */
export async function refreshRates(ports: CloudServicePorts): Promise<RefreshRatesResult> {
  const { store, clock, log } = ports;
  const connection = await readConnection(ports);
  const { pullUrl } = connection.settings.pricing;
  const { credentials } = connection;
  const source =
    pullUrl !== null
      ? ({ from: "pull_url", url: pullUrl } as const)
      : credentials !== null
        ? ({ from: "cloud", url: `${credentials.baseUrl}/v1/pricing/rates` } as const)
        : null;
  if (source === null) return { kind: "not_configured" };
  if (!isPullUrlAllowed(source.url)) {
    log.warn("pricing.pull_failed", { reason: "not_https", http_status: null });
    savePullFailure(store.notes, { at: clock.now(), error: "the address is not https" });
    return { kind: "not_https" };
  }

  const ifNoneMatch = readStoredEtag(store.notes.read(ETAG_KEY), source.url);
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
  if (response.kind === "transport" || response.status !== 200) return failed(ports, response);
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
  store.rates.replace("auto", verdict.rows, now);
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

/** Describes the first problem and counts the others. */
function describeProblems(problems: readonly RateProblem[]): string {
  const [first, ...more] = problems;
  if (first === undefined) return "rejected";
  const { provider, model, field, problem } = first;
  return `rejected: ${provider} ${model}, ${field}: ${problem}${more.length > 0 ? `, and ${more.length} more` : ""}`;
}

function failed(ports: CloudServicePorts, reply: CloudClientResult): RefreshRatesResult {
  const httpStatus = reply.kind === "http" ? reply.status : null;
  const reason = reply.kind === "http" ? `http_${reply.status}` : reply.reason;
  ports.log.warn("pricing.pull_failed", { reason, http_status: httpStatus });
  return saveFailure(ports, reply);
}

function saveFailure({ store, clock }: CloudServicePorts, reply: CloudClientResult): RefreshRatesResult {
  const error = describeResult(reply);
  savePullFailure(store.notes, { at: clock.now(), error });
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
