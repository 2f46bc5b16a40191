/** How an answer turns out; each provider spells it in its own way. */
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
  /** The answer ran into its output limit: whole, with usage. */
  | "incomplete"
  /** The socket is destroyed in the middle of the body, without a goodbye from TLS. */
  | "cut"
  /** The same with a TCP reset. */
  | "reset"
  /** TLS and TCP are closed properly, but before the body's end. */
  | "early-fin"
  /** Status 200 and a body that is not what its type says. */
  | "nonsense"
  /** No answer at all. */
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

/** What the answer holds, and with which prices. */
export type Trait =
  | "tools"
  | "thinking"
  | "cached"
  /** Cache writes with the one-hour time to live, where the provider has them. */
  | "cached-1h"
  /** Cache writes of OpenAI's kind. */
  | "cache-write"
  /** Server tools: web searches. */
  | "search"
  /** More than 300,000 tokens of input: above each provider's context tier. */
  | "long"
  | "no-usage"
  | "flex"
  | "priority";

/** How the answer travels. */
export type Manner =
  | "gzip"
  | "br"
  | "zstd"
  | "deflate"
  | "chunked"
  | "length"
  | "until-close"
  /** Pieces with a pause after each. */
  | "drip"
  /** Chunks and writes cut anywhere, with no regard for events. */
  | "shredded"
  /** A 103 answer first. */
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

const manners: readonly Manner[] = [
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

/** What a request asks the simulation to do. */
export interface Scenario {
  name: string;
  outcome: Outcome;
  /** The outcome befalls only the first of several equal requests: what a retrying client meets. */
  once: boolean;
  traits: ReadonlySet<Trait>;
  manners: ReadonlySet<Manner>;
  /** Number of content events in a stream; `null` lets the seed choose. */
  events: number | null;
}

/**
 * Reads the last `scenario: word+word` of a request's text, as a test double would: there is no switch beside what a
 * client can say to a provider. Without one all goes well. An unknown word is an error, so that a typing mistake in
 * a test can't pass for the usual answer.
 */
export function readScenario(text: string): Scenario {
  const name = [...text.matchAll(/scenario: ([a-z0-9+-]+)/g)].at(-1)?.[1] ?? "ok";
  let outcome: Outcome = "ok";
  let once = false;
  let events: number | null = null;
  const foundTraits = new Set<Trait>();
  const foundManners = new Set<Manner>();
  for (const word of name.split("+")) {
    const count = /^events-(\d+)$/.exec(word);
    if (count !== null) events = Number(count[1]);
    else if (word === "once") once = true;
    else if (isOneOf(outcomes, word)) outcome = word;
    else if (isOneOf(traits, word)) foundTraits.add(word);
    else if (isOneOf(manners, word)) foundManners.add(word);
    else throw new RangeError(`unknown word in a scenario: ${word}`);
  }
  return { name, outcome, once, traits: foundTraits, manners: foundManners, events };
}

function isOneOf<T extends string>(words: readonly T[], word: string): word is T {
  return (words as readonly string[]).includes(word);
}
