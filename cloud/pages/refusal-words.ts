import { PROBLEM_MEDIA_TYPE } from "../../core/wire/mod.ts";

/** What a page says instead of an API's title, by the refusal's code. */
export type RefusalWords = Readonly<Record<string, string>>;

/** The API speaks of headers there. */
const EVERYWHERE: RefusalWords = {
  rate_limited: "Too many attempts.",
  too_many_wrong_codes: "Too many wrong codes.",
};

/** A refusal in words for a person: its own for the code, else the title of the problem; and when to try again. */
export async function wordsOf(refusal: Response, words: RefusalWords = {}): Promise<string> {
  const isProblem = refusal.headers.get("content-type") === PROBLEM_MEDIA_TYPE;
  const { code, title } = (isProblem ? await refusal.json() : {}) as { code?: unknown; title?: unknown };
  const known = typeof code === "string" ? (words[code] ?? EVERYWHERE[code]) : undefined;
  const said = known ?? (typeof title === "string" ? title : "The request was refused.");
  const seconds = Number(refusal.headers.get("retry-after") ?? 0);
  return seconds > 0 ? `${said} Try again in ${inWords(seconds)}.` : said;
}

function inWords(seconds: number): string {
  if (seconds === 1) return "a second";
  return seconds <= 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}
