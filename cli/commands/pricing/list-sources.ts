import { BUNDLED_RATES_DATE, BUNDLED_RATES_SOURCE } from "../../../core/pricing/bundled-rates.data.ts";
import { loadBundledRates } from "../../../core/pricing/bundled-rates.ts";
import { chooseSource } from "../../../core/pricing/sources/choose-source.ts";
import { PRICE_SOURCES } from "../../../core/pricing/sources/price-sources.ts";
import { formatCount, UNKNOWN } from "../../../core/values/text/format-count.ts";
import { readSourcePulledAt } from "../../../daemon/cloud/pull-state.ts";
import { withStore } from "../../home/open-store.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { printable } from "../../render/printable.ts";
import { renderTable } from "../../render/table.ts";

/** A source of rates; snake case, as `--json` prints it. */
interface SourceState {
  name: string;
  /** The address; null for the bundled rates and the connected cloud. */
  url: string | null;
  /** The number of stored rates. */
  rates: number;
  last_pull_at: string | null;
  /** Full days since the last pull, or since the bundled rates were published. */
  age_days: number | null;
  /** Whether `meter pricing pull` without `--source` pulls from it. */
  selected: boolean;
}

/** Lists the sources of rates and their age. */
export async function listSources(
  context: CommandContext,
  { json }: { readonly json: boolean },
): Promise<void> {
  const states = await readSources(context);
  if (json) return context.printJson({ sources: states });
  const rows = states.map(({ name, url, rates, last_pull_at, age_days, selected }) => [
    `${printable(name)}${selected ? " *" : ""}`,
    formatCount(rates),
    name.startsWith("bundled ") ? UNKNOWN : (last_pull_at?.slice(0, 10) ?? "never"),
    age_days === null ? UNKNOWN : `${formatCount(age_days)} d`,
    printable(url ?? UNKNOWN),
  ]);
  const columns = [
    { title: "source" },
    { title: "rates", align: "right" as const },
    { title: "last pull" },
    { title: "age", align: "right" as const },
    { title: "address" },
  ];
  return context.print(
    [
      renderTable(columns, rows, context.width),
      "",
      "* is pulled by default.",
      "Pull one: meter pricing pull --source litellm",
    ].join("\n"),
  );
}

async function readSources({ home, env }: CommandContext): Promise<SourceState[]> {
  const { pricing } = (await readConfig(home, env)).config;
  const stored = new Map<string, number>();
  const pulledAt = new Map<string, number | null>();
  const lists = [
    ...PRICE_SOURCES.map(({ name, url }) => ({ name: name as string, url: url as string | null })),
    ...(pricing.pullUrl === null || pricing.source !== null
      ? []
      : [{ name: "pull_url", url: pricing.pullUrl }]),
    { name: "cloud", url: null },
  ];
  try {
    await withStore(home, { readOnly: true }, async (store) => {
      for (const { source, origin } of store.rates.read())
        if (source === "auto")
          stored.set(origin?.name ?? "cloud", (stored.get(origin?.name ?? "cloud") ?? 0) + 1);
      for (const { name } of lists) pulledAt.set(name, readSourcePulledAt(store.notes, name));
    });
  } catch (cause) {
    // Without a database nothing was pulled.
    if (!(cause instanceof CommandFailure)) throw cause;
  }
  for (const name of stored.keys())
    if (!lists.some((list) => list.name === name)) lists.push({ name, url: null });
  const chosen = chooseSource(pricing, null);
  const now = Date.now();
  const isChosen = (name: string) =>
    chosen !== null && (chosen.kind === "list" ? chosen.name === name : chosen.kind === name);
  return [
    {
      ...{ name: `bundled (${BUNDLED_RATES_SOURCE})`, url: null, rates: loadBundledRates().length },
      ...{ last_pull_at: null, age_days: daysBetween(Date.parse(BUNDLED_RATES_DATE), now), selected: false },
    },
    ...lists.map(({ name, url }): SourceState => {
      const at = pulledAt.get(name) ?? null;
      return {
        name,
        url: chosen?.kind === "list" && chosen.name === name ? chosen.url : url,
        rates: stored.get(name) ?? 0,
        last_pull_at: at === null ? null : new Date(at).toISOString(),
        age_days: at === null ? null : daysBetween(at, now),
        selected: isChosen(name),
      };
    }),
  ];
}

const daysBetween = (from: number, to: number) => Math.max(0, Math.floor((to - from) / 86_400_000));
