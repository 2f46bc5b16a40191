import { meterHome } from "../adapters/files/mod.ts";
import { createPriceBook, loadBundledRates, type RateRow } from "../core/pricing/mod.ts";
import { CommandFailure } from "./exit-codes.ts";
import { withStore } from "./open-store.ts";
import { readConfig } from "./read-config.ts";

/** The row of each known model that applies now, by provider and model. Works before anything was metered, too. */
export async function currentRates(env: Readonly<Record<string, string | undefined>>): Promise<RateRow[]> {
  const home = meterHome(env);
  const { operator } = (await readConfig(home, env)).config.pricing;
  let stored: RateRow[] = [];
  try {
    stored = await withStore(home, { readOnly: true }, async (store) => store.readRates());
  } catch (cause) {
    // No database yet: the bundled rates and the operator's are all there is.
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
