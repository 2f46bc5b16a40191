import type { Millis } from "../../values/time.ts";
import { retryDelay } from "../retry/backoff-delay.ts";
import { type CloudResult, describeResult, retryAfterOf } from "../retry/cloud-result.ts";

/** What was delivered to a webhook so far. */
export interface WebhookProgress {
  /** The `seq` of the last record that was delivered. */
  readonly recordSeq: number;
  /** The number of the last other event that was delivered. */
  readonly eventNumber: number;
  readonly consecutiveFailures: number;
  /** Why the last attempt failed; null after a delivery. */
  readonly lastError: string | null;
  readonly lastDeliveredAt: Millis | null;
}

/** What one message delivers. */
export type WebhookStep = Partial<Pick<WebhookProgress, "recordSeq" | "eventNumber">>;

/** The result of an attempt. */
export interface WebhookOutcome {
  readonly progress: WebhookProgress;
  /** How long to wait before the next attempt, in milliseconds; 0 after a delivery. */
  readonly delayMs: number;
}

/** The first window of the backoff in milliseconds. */
const FIRST_DELAY_MS = 1_000;

/** Whether a response means that the message was delivered: any 2xx. */
export const isDelivered = (result: CloudResult): boolean =>
  result.kind === "http" && result.status >= 200 && result.status < 300;

/**
 * Whether a response means that the receiver wants no more messages. Source: Standard Webhooks, "Delivery success and failure". A
 * proxy in front of the receiver may say so by mistake, so nothing is given up.
 */
export const isGone = (result: CloudResult): boolean => result.kind === "http" && result.status === 410;

/**
 * Returns the progress after an attempt. If the attempt failed (a redirect counts as a failure), the same message is sent again
 * after a growing delay. No message is skipped.
 */
export function afterAttempt(
  progress: WebhookProgress,
  step: WebhookStep,
  result: CloudResult,
  { now, random }: { readonly now: Millis; readonly random: number },
): WebhookOutcome {
  if (isDelivered(result)) {
    const delivered = { consecutiveFailures: 0, lastError: null, lastDeliveredAt: now };
    return { progress: { ...progress, ...step, ...delivered }, delayMs: 0 };
  }
  const consecutiveFailures = progress.consecutiveFailures + 1;
  const delayMs = Math.max(FIRST_DELAY_MS, retryDelay(consecutiveFailures, random, retryAfterOf(result)));
  return { progress: { ...progress, consecutiveFailures, lastError: describeResult(result) }, delayMs };
}

/** Reads stored progress. Null if the text is not progress. */
export function parseProgress(text: string): WebhookProgress | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { recordSeq, eventNumber } = (value ?? {}) as Partial<WebhookProgress>;
  if (!Number.isSafeInteger(recordSeq) || !Number.isSafeInteger(eventNumber)) return null;
  const { consecutiveFailures, lastError, lastDeliveredAt } = value as Partial<WebhookProgress>;
  return {
    recordSeq: recordSeq as number,
    eventNumber: eventNumber as number,
    consecutiveFailures: Number.isSafeInteger(consecutiveFailures) ? (consecutiveFailures as number) : 0,
    lastError: typeof lastError === "string" ? lastError : null,
    lastDeliveredAt: Number.isSafeInteger(lastDeliveredAt) ? (lastDeliveredAt as number) : null,
  };
}
