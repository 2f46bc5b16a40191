import { meterHome } from "../../adapters/files/meter-home.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { createPriceBook } from "../../core/pricing/price-book.ts";
import type { RateRow } from "../../core/pricing/rates.ts";
import { withStore } from "../home/open-store.ts";
import { readConfig } from "../home/read-config.ts";
import { CommandFailure } from "../program/exit-codes.ts";

/** Returns the rate that applies now for each known model, sorted by provider and model. Needs no database. */
export async function currentRates(env: Readonly<Record<string, string | undefined>>): Promise<RateRow[]> {
  const home = meterHome(env);
  const { operator } = (await readConfig(home, env)).config.pricing;
  let stored: RateRow[] = [];
  try {
    stored = await withStore(home, { readOnly: true }, async (store) => store.rates.read());
  } catch (cause) {
    // Without a database there are only the bundled rates and the operator's.
    if (!(cause instanceof CommandFailure)) throw cause;
  }
  const rows = [...loadBundledRates(), ...stored, ...operator];
  const book = createPriceBook(rows);
  const at = Date.now();
  const found = new Map<string, RateRow>();
  for (const { provider, model } of rows) {
    const key = `${provider} ${model}`;
    if (found.has(key)) continue;
    const row = book.find({ provider, model, requestedModel: null, at });
    if (row !== null) found.set(key, row);
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}
