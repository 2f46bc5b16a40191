import type { Config } from "../../core/operations/config/config.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { createPriceBook, type PriceBook } from "../../core/pricing/price-book.ts";
import type { RateStore } from "../../daemon/store/port/settings.ts";

/** Creates the price book from the bundled, the pulled and the operator's rates. */
export function openPriceBook(
  { pricing, providers }: Pick<Config, "pricing" | "providers">,
  stored: Pick<RateStore, "read">,
): PriceBook {
  const lists = providers.flatMap(({ provider, prices }) =>
    prices === undefined ? [] : [[provider, prices]],
  );
  return createPriceBook([...loadBundledRates(), ...stored.read(), ...pricing.operator], {
    lists: Object.fromEntries(lists),
  });
}
