import { createPriceBook, loadBundledRates, type PriceBook, type RateRow } from "../core/pricing/mod.ts";
import type { Store } from "../daemon/store/mod.ts";

/** The rates in force: bundled with this version, pulled, and the operator's. */
export function openPriceBook(operator: readonly RateRow[], store: Pick<Store, "readRates">): PriceBook {
  return createPriceBook([...loadBundledRates(), ...store.readRates(), ...operator]);
}
