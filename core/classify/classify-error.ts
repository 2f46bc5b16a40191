import type { ErrorClass } from "../record.ts";
import type { ProviderError } from "../usage/mod.ts";
import {
  ABORTED,
  AUTH,
  BAD_REQUEST,
  CODE_SENTENCES,
  CONFLICT,
  DECISIVE_WORDS,
  INBAND_WORDS,
  NETWORK,
  plainWord,
  RATE_LIMIT,
  SERVER_ERROR,
  TIMEOUT,
  type Verdict,
} from "./error-words.ts";

/** How a call failed below HTTP. `tls` is a certificate or handshake that was refused; `aborted` is the client's doing. */
export type TransportFailure = "timeout" | "network" | "aborted" | "tls";

/** How a call ended. */
export type CallOutcome =
  | {
      kind: "answered";
      status: number;
      error: ProviderError | null;
      /** False when the provider's side ended the answer before its framing did. */
      complete: boolean;
    }
  | { kind: "transport"; reason: TransportFailure };

/** An outcome in the words of the wire; all null for a call that did not fail. */
export interface ClassifiedError {
  errorClass: ErrorClass | null;
  /** Null where nobody can tell. */
  retryable: boolean | null;
  /** The provider's own code, or its error type where it sent no code; null where neither is one. */
  providerErrorCode: string | null;
}

/**
 * Classifies an outcome. First the words that say more than any status (billing behind a 429 or a 400), then the status,
 * then, in an error after a 200, the words alone; a failure that none of them explains is `unknown`.
 * Source: contract, "Metadata request record", and the providers' own error pages.
 */
export function classifyError(provider: string, outcome: CallOutcome): ClassifiedError {
  if (outcome.kind === "transport") return { ...TRANSPORT[outcome.reason], providerErrorCode: null };
  const { status, error, complete } = outcome;
  if (status < 400 && error === null) return complete ? NO_ERROR : { ...NETWORK, providerErrorCode: null };
  const providerErrorCode = codeAlone(error?.code) ?? codeAlone(error?.type);
  const words = [error?.code, error?.type]
    .filter((word) => word !== null && word !== undefined)
    .map(plainWord);
  const found =
    lookUp(DECISIVE_WORDS, words) ??
    byMessage(provider, status, error?.message ?? "") ??
    byStatus(status >= 400 ? status : inbandStatus(error)) ??
    lookUp(INBAND_WORDS, words);
  return found === null
    ? { errorClass: "unknown", retryable: null, providerErrorCode }
    : { ...found, providerErrorCode };
}

/**
 * Decision: a code is one word or a sentence that is known, or it is none. Whoever writes another sentence there may repeat
 * the prompt or the key in it, and the code is sent.
 */
function codeAlone(word: string | null | undefined): string | null {
  return word != null && (/^[\w.:/#-]{1,64}$/.test(word) || CODE_SENTENCES.has(word)) ? word : null;
}

const NO_ERROR: ClassifiedError = Object.freeze({
  errorClass: null,
  retryable: null,
  providerErrorCode: null,
});

const TRANSPORT: Readonly<Record<TransportFailure, Verdict>> = {
  timeout: TIMEOUT,
  network: NETWORK,
  aborted: ABORTED,
  // A refused certificate stays refused until somebody changes something.
  tls: { errorClass: "network", retryable: false },
};

/** The first word that the table knows decides; the code comes before the type, being the more exact of the two. */
function lookUp(table: ReadonlyMap<string, Verdict>, words: readonly string[]): Verdict | null {
  for (const word of words) {
    const found = table.get(word);
    if (found !== undefined) return found;
  }
  return null;
}

const GOOGLE_BILLING = /\blimit: 0\b|prepa(y|id)|spend(ing)? (cap|limit)|billing account/i;

/** What only the text says. Providers may reword it; then the status decides, as it does for everyone else. */
const MESSAGES: readonly [provider: string, status: number, text: RegExp][] = [
  // Anthropic, "Errors": a spend limit and an empty balance answer 400 invalid_request_error.
  ["anthropic", 400, /credit balance is too low|reached (your|the) .{0,60}limits?\b|spend(ing)? limit/i],
  // Google: a quota of nothing, an empty prepaid balance and a spend cap answer 429 RESOURCE_EXHAUSTED.
  ...(["gemini", "vertex", "code-assist"] as const).map(
    (provider) => [provider, 429, GOOGLE_BILLING] as [string, number, RegExp],
  ),
  // xAI answers a wrong key with 400.
  ["xai", 400, /incorrect api key/i],
  // Fireworks answers 412 for an account that is suspended, over its spending limit or unpaid.
  ["fireworks", 412, /suspended|spending limit|unpaid/i],
];

function byMessage(provider: string, status: number, message: string): Verdict | null {
  const rule = MESSAGES.find(
    ([name, answered, text]) => name === provider && answered === status && text.test(message),
  );
  return rule === undefined ? null : AUTH;
}

/** The status that an error after a 200 names itself, as a number or as a code of three digits. */
function inbandStatus(error: ProviderError | null): number | null {
  if (error?.status != null) return error.status;
  return error?.code != null && /^[45]\d\d$/.test(error.code) ? Number(error.code) : null;
}

function byStatus(status: number | null): Verdict | null {
  if (status === null) return null;
  const exact = BY_STATUS.get(status);
  if (exact !== undefined) return exact;
  if (status >= 500) return SERVER_ERROR;
  return BAD_REQUEST;
}

/** Statuses that differ from their hundred. */
const BY_STATUS: ReadonlyMap<number, Verdict> = new Map([
  [401, AUTH],
  [402, AUTH],
  [403, AUTH],
  [407, AUTH],
  [408, TIMEOUT],
  [409, CONFLICT],
  [425, CONFLICT],
  [429, RATE_LIMIT],
  // Cohere's word for a token that is not valid.
  [498, AUTH],
  // nginx's and Google's word for a client that went away.
  [499, ABORTED],
  [501, { errorClass: "server_error", retryable: false }],
  [504, TIMEOUT],
  // Cloudflare: no connection, no answer in time.
  [522, TIMEOUT],
  [524, TIMEOUT],
]);
