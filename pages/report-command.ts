import { formatPicoUsd } from "../core/pricing/money.ts";
import type { SessionListQuery } from "../core/pricing/view/session-query.ts";
import type { UsageQuery } from "../core/pricing/view/usage-query.ts";
import { quoteIfNeeded, quoteOption } from "../core/values/text/shell-words.ts";
import type { UsageAnswer, UsageDimension } from "../core/wire/usage.ts";
import type { PagePeriod } from "./page-period.ts";

/** What `meter report --by` calls the dimensions that it has. */
const GROUPS: Readonly<Partial<Record<UsageDimension, string>>> = {
  ...{ project: "project", model: "model", provider: "provider", client: "client" },
  ...{ client_version: "client-version", session: "session", agent: "agent", branch: "branch" },
  ...{ commit: "commit", pull_request: "pr", billing: "billing" },
};

/** Its options that select one value of a dimension. */
const OPTIONS: Readonly<Partial<Record<UsageDimension, string>>> = {
  ...{ project: "--project", model: "--model", provider: "--provider", session: "--session" },
  ...{ branch: "--branch", commit: "--commit", pull_request: "--pr" },
};

/** Returns the options of a command that select a period, given in milliseconds. */
export const periodOptions = ({ from, to }: Pick<PagePeriod, "from" | "to">): string =>
  `--from ${new Date(from).toISOString()} --to ${new Date(to).toISOString()}`;

/** Returns the `meter report` that shows the sums of a query; null if it has no option for a part of it. */
export function reportCommand(
  { by, thenBy, period: asked, filters }: Pick<UsageQuery, "by" | "thenBy" | "period" | "filters">,
  { period }: Pick<UsageAnswer, "period">,
): string | null {
  const groups = [by, thenBy].flatMap((dimension) => (dimension === null ? [] : [GROUPS[dimension]]));
  if (groups.includes(undefined)) return null;
  const options = selectOptions({ period: asked, filters }, period);
  return options && `meter report --by ${groups.length === 0 ? "total" : groups.join(",")} ${options}`;
}

/** Returns the `meter report` that compares the models of a query with another one; null if it has no option for a part of it. */
export function comparisonCommand(
  query: Pick<UsageQuery, "period" | "filters">,
  { period }: Pick<UsageAnswer, "period">,
  as: string,
): string | null {
  const hasCommit = query.filters.some(({ dimension }) => dimension === "commit");
  const options = hasCommit ? null : selectOptions(query, period);
  return options && `meter report ${quoteOption("--as", as)} ${options}`;
}

/** Returns the options that select the period and the filters of a query; null if there is none for a part of it. */
function selectOptions(
  { period: asked, filters }: Pick<UsageQuery, "period" | "filters">,
  period: UsageAnswer["period"],
): string | null {
  const words = ["--from", period.from];
  // The other named periods end now.
  if (typeof asked !== "string" || asked === "month") words.push("--to", period.to);
  for (const { dimension, not, values } of filters) {
    const option = OPTIONS[dimension];
    const [value = "", ...others] = values;
    if (option === undefined || not || others.length > 0 || value === "") return null;
    words.push(quoteOption(option, value));
  }
  return words.join(" ");
}

/** Returns the `meter sessions` that lists the same as a query. */
export function sessionsCommand(
  { filters, minPicoUsd, sort }: SessionListQuery,
  period: Pick<PagePeriod, "from" | "to">,
): string {
  return [
    `meter sessions ${periodOptions(period)}`,
    ...filters.flatMap(({ dimension, not, values }) =>
      values.map((value) => `--filter ${quoteIfNeeded(`${dimension}${not ? ".not" : ""}=${value}`)}`),
    ),
    ...(minPicoUsd === null ? [] : [`--min-cost ${formatPicoUsd(minPicoUsd)}`]),
    ...(sort === "latest" ? [] : [`--sort ${sort}`]),
  ].join(" ");
}
