import type { CallDecision, CallRefused, CallToDecide } from "../../core/budgets/decide-call.ts";
import { readRequestHead } from "../../core/metering/exchange/head.ts";
import { isUnreadable } from "../../core/metering/exchange/unreadable.ts";
import type { CallQuestion } from "../proxy/call-question.ts";
import {
  type CallSources,
  completeFacts,
  describeCall,
  formatAnswer,
  matchRoute,
  readBody,
} from "./describe-held-call.ts";

/** How often each sample is decided on. The first time takes 15 ms of CPU time, the fourth one a tenth of that. */
const ROUNDS = 4;

/** Calls of the two APIs that most clients use. */
const SAMPLES = [
  ["api.anthropic.com", "/v1/messages", { model: "claude-sonnet-4-5", max_tokens: 1, stream: true }],
  ["api.openai.com", "/v1/responses", { model: "gpt-5", max_output_tokens: 1, stream: true }],
] as const;

/**
 * Decides on sample calls, and forgets the decisions. Without this, the code that decides runs for the first time while a call waits, which
 * takes longer than the call may wait.
 */
export function warmUpDecisions(
  sources: CallSources & { readonly budgets: { decide(call: CallToDecide): CallDecision } },
): void {
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [host, path, request] of SAMPLES) decideSample(sources, host, path, request);
}

function decideSample(
  sources: Parameters<typeof warmUpDecisions>[0],
  host: string,
  path: string,
  request: object,
): void {
  const messages = [{ role: "user", content: "x".repeat(1_000) }];
  const encode = (text: string) => new TextEncoder().encode(text);
  const question: CallQuestion = {
    ...{ connection: 0, request: 0, host, port: 443, clientPort: 0, proxyUser: null, project: null },
    ...{ caller: null, isWhole: true, isTurn: false },
    head: encode(`POST ${path} HTTP/1.1\r\nhost: ${host}\r\nuser-agent: meter\r\n\r\n`),
    body: encode(JSON.stringify({ ...request, messages, input: messages })),
  };
  const head = readRequestHead(question.head);
  const route = isUnreadable(head) ? null : matchRoute(sources, question, head);
  if (isUnreadable(head) || route === null) return;
  const attribution = { attribute: () => Promise.reject(new Error("a sample has no caller")) };
  readBody(sources, question, head, (body) => {
    const call = describeCall(sources, question, head, route, body, attribution, () => {});
    const { facts, program } = completeFacts(sources, call, null);
    sources.budgets.decide({ facts, bound: call.bound, isFinal: true });
    formatAnswer(call, SAMPLE_REFUSAL, program);
  });
}

const SAMPLE_REFUSAL: CallRefused = {
  kind: "refuse",
  budget: "sample",
  isFleet: false,
  ...{ reason: "amount", unit: "usd", limit: 0n, spent: 0n, inFlight: 0n },
  ...{ periodEnd: 0, retryAfter: 1 },
};
