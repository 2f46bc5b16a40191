import { DEFAULT_USAGE_QUERY, type UsageQuery } from "../../core/pricing/view/usage-query.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { UsageAnswer, UsageDimension } from "../../core/wire/usage.ts";
import type { NameOfValue } from "../../pages/filters.ts";
import type { PagePeriod } from "../../pages/page-period.ts";
import { readUsageAnswer } from "../routes/reads/read-usage.ts";
import type { PageCall } from "./page-call.ts";

/** The most values of a filter that a menu has. */
const MAX_CHOICES = 100;

/** An answer to a usage query, or its problem. */
export type UsageRead = Awaited<ReturnType<typeof readUsageAnswer>>;

/** Returns a function that reads the sums of a period, without its coverage. Its argument changes the query. */
export function createPeriodReader(
  { env: { parts }, workspace }: PageCall,
  { from, to }: Pick<PagePeriod, "from" | "to">,
): (change: Partial<UsageQuery>) => Promise<UsageRead> {
  const bounds = { period: { from: formatInstant(from), to: formatInstant(to) }, compare: "none" } as const;
  return (change) =>
    readUsageAnswer(
      parts,
      workspace,
      { ...DEFAULT_USAGE_QUERY, ...bounds, bucket: "none", ...change },
      "none",
    );
}

/** The values of a page's filters, and the names of those that are IDs. */
export interface FilterMenus {
  readonly choices: Readonly<Record<string, readonly string[]>>;
  readonly nameOf: NameOfValue;
}

/** The menus of a page that could not read them. */
export const NO_MENUS: FilterMenus = { choices: {}, nameOf: () => null };

/** Reads the values that filters have in a period. The rollups have them. */
export async function readFilterMenus(
  call: PageCall,
  period: Pick<PagePeriod, "from" | "to">,
  menus: readonly UsageDimension[],
): Promise<FilterMenus> {
  const read = createPeriodReader(call, period);
  const lists = await Promise.all(
    menus.map(async (by) => {
      const values = listValues(await read({ by, top: MAX_CHOICES, metric: "requests" }));
      return [by, values] as const;
    }),
  );
  const names = new Map<string, ReadonlyMap<string, string>>(
    lists.map(([by, values]) => [by, new Map(values)]),
  );
  return {
    choices: Object.fromEntries(lists.map(([by, values]) => [by, values.map(([key]) => key)])),
    nameOf: (name, value) => names.get(name)?.get(value) ?? null,
  };
}

/** Lists the values of an answer with their names, in the order of the names. */
function listValues(answer: UsageRead): [key: string, name: string][] {
  const rows: UsageAnswer["rows"] = answer.ok ? answer.value.rows : [];
  return rows
    .flatMap(({ key, label }): [string, string][] => (key === null ? [] : [[key, label]]))
    .sort(([, one], [, other]) => (one < other ? -1 : 1));
}
