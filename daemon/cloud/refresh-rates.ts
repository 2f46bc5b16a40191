import type { CloudReply } from "../../core/ports/cloud-client.ts";
import { createPriceBook, isPullUrlAllowed, judgePull, type RateProblem } from "../../core/pricing/mod.ts";
import { describeAnswer } from "../../core/retry/mod.ts";
import { publishedRatesSchema } from "../../core/wire/mod.ts";
import { askCloud, askOpenly, readAnswer, readConnection } from "./connection.ts";
import type { CloudServicePorts } from "./ports.ts";
import { keepPulled, keepPullFailure } from "./pull-state.ts";
import type { RefreshRatesResult } from "./results.ts";

/** The tag of the rates that were taken last, with the address that gave it. */
const ETAG_KEY = "rates_etag";

/** How long a pull may take, milliseconds. */
const PULL_MS = 60_000;

/**
 * Pulls rates once: from `pull_url` without any token, else from the cloud with it; https only. All rates of the answer
 * are taken, or none. Source: contract, "Authentication", item 3, and "Limits".
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
    keepPullFailure(store, { at: clock.now(), error: "the address is not https" });
    return { kind: "not_https" };
  }

  const ifNoneMatch = knownTag(store.readMeta(ETAG_KEY), source.url);
  const reply =
    source.from === "cloud" && credentials !== null
      ? await askCloud(ports, credentials, "/v1/pricing/rates", { ifNoneMatch, timeoutMs: PULL_MS })
      : await askOpenly(ports, source.url, { ifNoneMatch, timeoutMs: PULL_MS });
  const now = clock.now();
  if (reply.kind === "http" && reply.status === 304 && ifNoneMatch !== null) {
    keepPulled(store, now);
    return { kind: "not_modified", from: source.from };
  }
  if (reply.kind === "transport" || reply.status !== 200) return failed(ports, reply);
  const pull = readAnswer(reply, publishedRatesSchema);
  if (pull === null) {
    log.warn("pricing.pull_invalid", { reason: "invalid_answer", provider: null, model: null });
    return keepFailure(ports, { kind: "transport", reason: "invalid_answer" });
  }
  const book = createPriceBook([...ports.bundledRates(), ...store.readRates()]);
  const verdict = judgePull(pull, book, now);
  if (!verdict.ok) {
    const [first] = verdict.problems;
    keepPullFailure(store, { at: now, error: rejected(verdict.problems) });
    log.warn("pricing.pull_invalid", {
      reason: first?.field.replaceAll(/[^\w.:-]+/g, "_") ?? "unknown",
      provider: first?.provider ?? null,
      model: first?.model ?? null,
    });
    return { kind: "invalid", problems: verdict.problems };
  }
  store.replaceRates("auto", verdict.rows, now);
  store.writeMeta(ETAG_KEY, reply.etag === null ? null : JSON.stringify([source.url, reply.etag]));
  keepPulled(store, now);
  ports.ratesChanged();
  log.info("pricing.pulled", { rates: verdict.rows.length, from: source.from });
  return {
    kind: "updated",
    rates: verdict.rows.length,
    publishedAt: pull.published_at,
    from: source.from,
  };
}

/** The first of the reasons, and how many more there are. */
function rejected(problems: readonly RateProblem[]): string {
  const [first, ...more] = problems;
  if (first === undefined) return "rejected";
  const { provider, model, field, problem } = first;
  return `rejected: ${provider} ${model}, ${field}: ${problem}${more.length > 0 ? `, and ${more.length} more` : ""}`;
}

function failed(ports: CloudServicePorts, reply: CloudReply): RefreshRatesResult {
  const httpStatus = reply.kind === "http" ? reply.status : null;
  const reason = reply.kind === "http" ? `http_${reply.status}` : reply.reason;
  ports.log.warn("pricing.pull_failed", { reason, http_status: httpStatus });
  return keepFailure(ports, reply);
}

function keepFailure({ store, clock }: CloudServicePorts, reply: CloudReply): RefreshRatesResult {
  const error = describeAnswer(reply);
  keepPullFailure(store, { at: clock.now(), error });
  return { kind: "failed", httpStatus: reply.kind === "http" ? reply.status : null, error };
}

/** The tag, where it came from that address: another one's says nothing here. */
function knownTag(kept: string | null, url: string): string | null {
  if (kept === null) return null;
  try {
    const [from, tag] = JSON.parse(kept) as [string, string];
    return from === url ? tag : null;
  } catch {
    return null;
  }
}
