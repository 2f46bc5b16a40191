import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../core/pricing/price-book.ts";
import type { RateRow } from "../../core/pricing/rates.ts";
import type { CalendarDate } from "../../core/values/time.ts";
import { withStore } from "../home/open-store.ts";
import { readConfig } from "../home/read-config.ts";
import { findHome } from "../program/check-home.ts";
import { CommandFailure } from "../program/exit-codes.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the rate that applies now for each known model, sorted by provider and model. Needs no database. */
export async function currentRates(env: Environment): Promise<RateRow[]> {
  const rows = await readRates(env);
  return [...findCurrent(rows, rows)].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}

/** Returns the date of the newest rate that applies now; null if none applies. Needs no database. */
export async function newestRateDate(env: Environment): Promise<CalendarDate | null> {
  const rows = await readRates(env);
  const dates = rows.map(({ provenanceDate }) => provenanceDate).sort();
  const last = dates.at(-1);
  const likely = rows.filter(({ provenanceDate }) => provenanceDate === last);
  let newest: CalendarDate | null = null;
  for (const [, { provenanceDate }] of findCurrent(rows, [...likely, ...rows])) {
    if (newest === null || provenanceDate > newest) newest = provenanceDate;
    // Finding the rates of all models takes a tenth of a second.
    if (newest === last) break;
  }
  return newest;
}

/** Reads the rates of all sources and dates. */
async function readRates(env: Environment): Promise<readonly RateRow[]> {
  const home = findHome(env);
  const { operator } = (await readConfig(home, env)).config.pricing;
  let stored: RateRow[] = [];
  try {
    stored = await withStore(home, { readOnly: true }, async (store) => store.rates.read());
  } catch (cause) {
    // Without a database there are only the bundled rates and the operator's.
    if (!(cause instanceof CommandFailure)) throw cause;
  }
  return [...loadBundledRates(), ...stored, ...operator];
}

/** Finds the rate that applies now for each model among `models`, with the model's provider and name. */
function* findCurrent(
  rows: readonly RateRow[],
  models: readonly Pick<RateRow, "provider" | "model">[],
): IterableIterator<[key: string, row: RateRow]> {
  const book = createPriceBook(rows);
  const at = Date.now();
  const known = new Set<string>();
  for (const { provider, model } of models) {
    const key = `${provider} ${model}`;
    if (known.has(key)) continue;
    known.add(key);
    const row = book.find({ provider, model, requestedModel: null, at });
    if (row !== null) yield [key, row];
  }
}
