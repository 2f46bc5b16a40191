import { quoteIfNeeded } from "../../values/text/shell-words.ts";
import type { Millis } from "../../values/time.ts";
import type { BudgetUnit } from "../budget.ts";
import type { CallRefused, RefusalReason } from "../decide-call.ts";

/** What a refusal says about its budget. */
export type RefusalFacts = Pick<
  CallRefused,
  "budget" | "isFleet" | "unit" | "limit" | "periodEnd" | "retryAfter"
> & {
  /** `cut`: the amount was used up while the call was under way. */
  readonly reason: RefusalReason | "cut";
};

/**
 * Texts at which some client repeats a call, or takes it for another problem. pi, opencode, Roo Code and LangChain read the
 * message as well as the status; pi also compacts the session if the message looks like a full context window. Sources: their
 * code, 2026-11.
 */
const MISREAD_TEXTS: readonly RegExp[] = [
  /4(?:08|09|13|25|29|99)/,
  /5(?:00|02|03|04|20|21|22|23|24|29|98|99)/,
  /rate.?limit|too.?many|throttl|resource.?exhausted|exhausted|quota|capacity/i,
  /overload|unavailable|server.?error|internal.?error|provider.?returned|upstream|bad.?gateway/i,
  /time.?out|timed?.?out|deadline|retry|try.?again/i,
  /network|connect|socket|fetch.?failed|terminated|reset|econn|etimedout|aborted|ended.?without/i,
  /context|prompt|maximum|exceed|token.?limit|request.?too|too.?l(?:arge|ong)|input.?is/i,
];

/** Whether a client may misread the text. */
export function isMisread(text: string): boolean {
  return MISREAD_TEXTS.some((pattern) => pattern.test(text));
}

/** U+2060 has no width. Between two letters, it makes a word a different word to a program. */
const WORD_JOINER = "\u2060";

/** Breaks up what a client may misread with characters that people do not see. */
function disarm(text: string): string {
  return isMisread(text) ? [...text].join(WORD_JOINER) : text;
}

const PICO_PER_CENT = 10_000_000_000n;

const groupDigits = (count: bigint) => count.toString().replace(/\B(?=(\d{3})+$)/g, ",");

/** Formats an amount so that no client takes it for a status: 500 USD are 50,000 cents. */
export function formatRefusedAmount(unit: BudgetUnit, limit: bigint): string {
  const forms =
    unit === "usd"
      ? [formatDollars(limit), `${groupDigits(limit / PICO_PER_CENT)} US cents`]
      : [`${groupDigits(limit)} ${unit}`];
  return forms.find((form) => !isMisread(form)) ?? disarm(forms[0] as string);
}

/** Formats pico-USD with at least two decimals, exactly. */
function formatDollars(picoUsd: bigint): string {
  const decimals = (picoUsd % 1_000_000_000_000n)
    .toString()
    .padStart(12, "0")
    .replace(/0{1,10}$/, "");
  return `USD ${groupDigits(picoUsd / 1_000_000_000_000n)}.${decimals}`;
}

const MAX_NAME_CHARACTERS = 64;

/** Returns a budget's name without control characters and quotes, and not longer than a line. */
function cleanName(name: string): string {
  const printable = name.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069"\\]/g, " ");
  return [...printable].slice(0, MAX_NAME_CHARACTERS).join("").trim();
}

const formatInstant = (at: Millis) => `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;

/**
 * Returns the message of a refusal: the budget, its amount, when it allows calls again, and the command that lifts it. No client
 * misreads it, whatever the budget's name and amount are. The command of a name that clients misread is the one that lists
 * the budgets, because what makes the name harmless must not be copied.
 */
export function formatRefusal({ budget, isFleet, reason, unit, limit, periodEnd }: RefusalFacts): string {
  const name = cleanName(budget);
  const amount = formatRefusedAmount(unit, limit);
  const what = {
    amount: `meter: the budget "${disarm(name)}" (${amount}) is used up or has no room for this call, so it was not sent`,
    rate: `meter: the spending guard "${disarm(name)}" (${amount}) has stopped this call`,
    cut: `meter: the budget "${disarm(name)}" (${amount}) is used up, so this answer was cut off`,
    unknown: `meter: the budget "${disarm(name)}" (${amount}) could not decide on this call and fails closed, so it was not sent`,
  }[reason];
  const until =
    periodEnd === null ? "" : ` It allows calls again on ${disarmDate(formatInstant(periodEnd))}.`;
  return `${what}.${until} ${formatCommand(name, isFleet)}`;
}

function formatCommand(name: string, isFleet: boolean): string {
  if (isMisread(name))
    return isFleet
      ? "A workspace set it. To see where it can be lifted: meter budget list"
      : "To see and lift your budgets: meter budget list";
  return isFleet
    ? `A workspace set it. To see where it can be lifted: meter budget show ${quoteIfNeeded(name)}`
    : `To continue now: meter budget lift ${quoteIfNeeded(name)} --for 1h`;
}

const disarmDate = (text: string) => (isMisread(text) ? disarm(text) : text);
