/** The outcome of a call. Each provider reports it in its own format. */
export type Outcome =
  | "ok"
  | "unauthorised"
  | "rate-limit"
  | "quota"
  | "overloaded"
  | "server-error"
  | "bad-request"
  | "not-found"
  /** An error event after status 200. */
  | "error-in-stream"
  /** The response reached its output limit. It is complete and has usage. */
  | "incomplete"
  /** The socket is destroyed in the middle of the body, without a TLS close_notify. */
  | "cut"
  /** Like `cut`, with a TCP reset. */
  | "reset"
  /** TLS and TCP are closed properly, but before the end of the body. */
  | "early-fin"
  /** Status 200 with a body that does not match its content type. */
  | "nonsense"
  /** No response. */
  | "silence";

const outcomes: readonly Outcome[] = [
  "ok",
  "unauthorised",
  "rate-limit",
  "quota",
  "overloaded",
  "server-error",
  "bad-request",
  "not-found",
  "error-in-stream",
  "incomplete",
  "cut",
  "reset",
  "early-fin",
  "nonsense",
  "silence",
];

/** The content of a response, and what affects its price. */
type Trait =
  | "tools"
  | "thinking"
  | "cached"
  /** Cache writes with a one-hour time to live, if the provider supports them. */
  | "cached-1h"
  /** Cache writes in OpenAI's format. */
  | "cache-write"
  /** Server tools: web searches. */
  | "search"
  /** More than 300,000 input tokens, which exceeds every provider's context tier. */
  | "long"
  | "no-usage"
  | "flex"
  | "priority";

/** The encoding, framing and timing of a response. */
export type DeliveryMode =
  | "gzip"
  | "br"
  | "zstd"
  | "deflate"
  | "chunked"
  | "length"
  | "until-close"
  /** Sent in pieces with a pause after each. */
  | "drip"
  /** Chunks and writes split at random places. */
  | "shredded"
  /** Preceded by a 103 Early Hints response. */
  | "hints"
  | "trailers";

const traits: readonly Trait[] = [
  "tools",
  "thinking",
  "cached",
  "cached-1h",
  "cache-write",
  "search",
  "long",
  "no-usage",
  "flex",
  "priority",
];

const deliveryModes: readonly DeliveryMode[] = [
  "gzip",
  "br",
  "zstd",
  "deflate",
  "chunked",
  "length",
  "until-close",
  "drip",
  "shredded",
  "hints",
  "trailers",
];

/** The behaviour that a request selects. */
export interface Scenario {
  name: string;
  outcome: Outcome;
  /** The outcome applies only to the first of several equal requests, so that a retry succeeds. */
  once: boolean;
  traits: ReadonlySet<Trait>;
  deliveryModes: ReadonlySet<DeliveryMode>;
  /** The number of content events in a stream; `null` if the seed decides. */
  events: number | null;
  /** The use of the account's window of 5 hours, in percent, which Anthropic states in headers; `null` for no such account. */
  used: number | null;
}

/**
 * Reads the last `scenario: word+word` in the text of a request. Clients have no other way to select a scenario. The default
 * is a successful response. Throws for an unknown word, so that a typo in a test is not mistaken for the default.
 */
export function readScenario(text: string): Scenario {
  const name = [...text.matchAll(/scenario: ([a-z0-9+-]+)/g)].at(-1)?.[1] ?? "ok";
  let outcome: Outcome = "ok";
  let once = false;
  let events: number | null = null;
  let used: number | null = null;
  const foundTraits = new Set<Trait>();
  const foundModes = new Set<DeliveryMode>();
  for (const word of name.split("+")) {
    const count = /^events-(\d+)$/.exec(word);
    const share = /^used-(\d+)$/.exec(word);
    if (count !== null) events = Number(count[1]);
    else if (share !== null) used = Number(share[1]);
    else if (word === "once") once = true;
    else if (isOneOf(outcomes, word)) outcome = word;
    else if (isOneOf(traits, word)) foundTraits.add(word);
    else if (isOneOf(deliveryModes, word)) foundModes.add(word);
    else throw new RangeError(`unknown word in a scenario: ${word}`);
  }
  return { name, outcome, once, traits: foundTraits, deliveryModes: foundModes, events, used };
}

function isOneOf<T extends string>(words: readonly T[], word: string): word is T {
  return (words as readonly string[]).includes(word);
}
