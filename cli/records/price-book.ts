import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { createPriceBook, type PriceBook } from "../../core/pricing/price-book.ts";
import type { RateRow } from "../../core/pricing/rates.ts";
import type { RateStore } from "../../daemon/store/port/settings.ts";

/** Creates the price book from the bundled, the pulled and the operator's rates. */
export function openPriceBook(operator: readonly RateRow[], stored: Pick<RateStore, "read">): PriceBook {
  return createPriceBook([...loadBundledRates(), ...stored.read(), ...operator]);
}
