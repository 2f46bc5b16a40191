import type { RequestHead, ResponseHead } from "../../core/metering/exchange/head.ts";
import { readAccountIdentity } from "../../core/metering/limits/account-identity.ts";
import { readCodexEvent } from "../../core/metering/limits/codex-limits.ts";
import { readErrorLimits } from "../../core/metering/limits/error-limits.ts";
import {
  pickLimitHeaders,
  readHeaderLimits,
  statesOnlyRates,
} from "../../core/metering/limits/header-limits.ts";
import type { StatedLimit } from "../../core/metering/limits/stated-limit.ts";
import type { UsageReport } from "../../core/metering/usage/usage-report.ts";
import type { CapturePorts, ConnectionFacts } from "./ports.ts";

/** A response that may state limits, and its request. */
interface LimitSource {
  readonly provider: string;
  readonly request: RequestHead;
  readonly response: ResponseHead;
}

/** What the last response on a connection stated. */
interface LastStated {
  readonly signature: string;
  /** On the clock of the tap log. */
  readonly atMs: number;
}

const lastStated = new WeakMap<ConnectionFacts, LastStated>();

/** How often unchanged limits are stored again, in milliseconds. Only the time at which they were seen would differ. */
const UNCHANGED_INTERVAL_MS = 10_000;

/** How often rate limits are stored, in milliseconds. They change with each call. */
const RATE_INTERVAL_MS = 1_000;

/** The first status that is an error, and states a limit that was reached. */
const FIRST_ERROR = 400;

/** Takes the limits that the headers of a response state. Never throws. */
export function takeHeaderLimits(
  ports: CapturePorts,
  connection: ConnectionFacts,
  source: LimitSource,
  model: string | null,
): void {
  const headers = pickLimitHeaders(source.response.headers);
  if (headers === null || ports.limits === undefined) return;
  const last = lastStated.get(connection);
  const atMs = ports.monotonicMs();
  if (last !== undefined && source.response.status < FIRST_ERROR) {
    const isSame = last.signature === headers.signature;
    const intervalMs = isSame ? UNCHANGED_INTERVAL_MS : statesOnlyRates(headers) ? RATE_INTERVAL_MS : 0;
    if (atMs - last.atMs < intervalMs) return;
  }
  lastStated.set(connection, { signature: headers.signature, atMs });
  takeLimits(ports, source, (now) => readHeaderLimits(headers, { now, model }));
}

/** Takes the limits that the body of a response states: an event of Codex, or an error. Never throws. */
export function takeReportLimits(
  ports: CapturePorts,
  source: LimitSource,
  { limitEvent, limitError }: Pick<UsageReport, "limitEvent" | "limitError">,
): void {
  if (limitEvent === undefined && limitError === undefined) return;
  takeLimits(ports, source, (now) => [
    ...readCodexEvent(limitEvent, now),
    ...readErrorLimits(limitError, now),
  ]);
}

/** Takes the limits that `read` finds. Never throws. */
export function takeLimits(
  { limits, log, wallClockMs, hashAccount }: CapturePorts,
  { provider, request, response }: LimitSource,
  read: (now: number) => readonly StatedLimit[],
): void {
  if (limits === undefined) return;
  try {
    const stated = read(wallClockMs());
    if (stated.length === 0) return;
    const identity = readAccountIdentity(request, response.headers);
    const account = identity === null ? null : (hashAccount?.(`${provider} ${identity}`) ?? null);
    limits.add({ provider, account }, stated);
  } catch (cause) {
    // Limits are an extra: the call is metered without them.
    log.error("capture.failed", {
      host: provider,
      error: cause instanceof Error ? cause.name : typeof cause,
    });
  }
}
