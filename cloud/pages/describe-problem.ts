import { formatQuantity } from "../../core/values/text/format-quantity.ts";
import { parseWire } from "../../core/wire/parse.ts";
import { PROBLEM_MEDIA_TYPE, type Problem, problemSchema } from "../../core/wire/problem-details.ts";

/** A page's messages by problem code, shown in place of the API's title. */
export type ProblemMessages = Readonly<Record<string, string>>;

/** Messages for problems whose API title mentions headers. */
const COMMON_MESSAGES: ProblemMessages = {
  rate_limited: "Too many attempts.",
  too_many_emails: "The address has received the maximum number of emails from this workspace in a day.",
  too_many_wrong_codes: "Too many wrong codes.",
};

/** Describes a refusal to a person: the page's message for its code, else what it says of a field, else its title; and when to try again. */
export async function describeProblem(refusal: Response, messages: ProblemMessages = {}): Promise<string> {
  const isProblem = refusal.headers.get("content-type") === PROBLEM_MEDIA_TYPE;
  const parsed = isProblem ? parseWire(problemSchema, await refusal.json()) : null;
  const message = parsed?.ok ? describeParsed(parsed.value, messages) : "The request was refused.";
  const seconds = Number(refusal.headers.get("retry-after") ?? 0);
  return seconds > 0 ? `${message} Try again in ${formatWait(seconds)}.` : message;
}

function describeParsed({ code, title, errors }: Problem, messages: ProblemMessages): string {
  const known = messages[code] ?? COMMON_MESSAGES[code];
  if (known !== undefined) return known;
  const [first] = errors ?? [];
  if (first !== undefined) return `The ${first.field.replaceAll(/[._]/g, " ")} ${first.problem}.`;
  return title ?? "The request was refused.";
}

function formatWait(seconds: number): string {
  if (seconds <= 90) return formatQuantity(seconds, "second");
  const minutes = Math.ceil(seconds / 60);
  return minutes <= 90 ? formatQuantity(minutes, "minute") : formatQuantity(Math.ceil(minutes / 60), "hour");
}
