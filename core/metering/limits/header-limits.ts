import type { Millis } from "../../values/time.ts";
import type { HeaderList } from "../exchange/head.ts";
import { readAnthropicLimits } from "./anthropic-limits.ts";
import { readClassicLimits } from "./classic-limits.ts";
import { readCodexLimits } from "./codex-limits.ts";
import { readCopilotLimits } from "./copilot-limits.ts";
import { distinctLimits, type StatedLimit } from "./stated-limit.ts";

/** Matches the names of headers that state limits, and few others. */
const LIMIT_HEADER =
  /^(?:anthropic-ratelimit-(unified-)?|x-(?:(ratelimit-)|((?:quota-snapshot|usage-ratelimit)-)|codex-|.{1,64}-(?:primary|secondary)-|.{1,64}-limit-name$))/i;

/** The letters that such names start with. */
const LETTER_A = 0x61;
const LETTER_X = 0x78;
const TO_LOWER_CASE = 0x20;

/** The longest value that is read. */
const MAX_VALUE = 512;

type Headers = ReadonlyMap<string, string>;

/** The headers of a response that state limits, by family; names are in lower case. */
export interface LimitHeaders {
  readonly anthropic: Headers | null;
  readonly codex: Headers | null;
  readonly copilot: Headers | null;
  readonly classic: Headers | null;
  /** The values, to compare two responses. */
  readonly signature: string;
}

type Family = Exclude<keyof LimitHeaders, "signature">;

/** Returns the headers that may state limits, the first of each name; null if there is none. */
export function pickLimitHeaders(headers: HeaderList): LimitHeaders | null {
  let found: { -readonly [Name in Family]: Map<string, string> | null } | null = null;
  let signature = "";
  for (const header of headers) {
    const name = header[0];
    const first = name.charCodeAt(0) | TO_LOWER_CASE;
    if (first !== LETTER_A && first !== LETTER_X) continue;
    const match = LIMIT_HEADER.exec(name);
    if (match === null || header[1].length > MAX_VALUE) continue;
    found ??= { anthropic: null, codex: null, copilot: null, classic: null };
    const family = familyOf(match, first);
    const own = (found[family] ??= new Map());
    const key = name.toLowerCase();
    if (own.has(key)) continue;
    own.set(key, header[1]);
    signature += `${header[1]}\n`;
  }
  return found && { ...found, signature };
}

function familyOf([, unified, rate, quota]: RegExpExecArray, first: number): Family {
  if (first === LETTER_A) return unified === undefined ? "classic" : "anthropic";
  if (rate !== undefined) return "classic";
  return quota === undefined ? "codex" : "copilot";
}

/** Whether the headers state only rate limits, which change with each call. */
export const statesOnlyRates = ({ anthropic, codex, copilot }: LimitHeaders): boolean =>
  anthropic === null && codex === null && copilot === null;

/**
 * Reads the limits that the headers of a response state. Malformed values are unknown. `model` is the requested model,
 * which rate limits apply to.
 */
export function readHeaderLimits(
  { anthropic, codex, copilot, classic }: LimitHeaders,
  facts: { readonly now: Millis; readonly model: string | null },
): readonly StatedLimit[] {
  return distinctLimits([
    ...(anthropic === null ? [] : readAnthropicLimits(anthropic, facts.now)),
    ...(codex === null ? [] : readCodexLimits(codex, facts.now)),
    ...(copilot === null ? [] : readCopilotLimits(copilot, facts.now)),
    ...(classic === null ? [] : readClassicLimits(classic, facts)),
  ]);
}
