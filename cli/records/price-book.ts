import type { Config } from "../../core/operations/config/config.ts";
import { loadBundledRates } from "../../core/pricing/bundled-rates.ts";
import { createPriceBook, type PriceBook } from "../../core/pricing/price-book.ts";
import { listsFor } from "../../core/pricing/provider-names.ts";
import type { RateStore } from "../../daemon/store/port/settings.ts";

/**
 * Creates the price book from the bundled, the pulled and the operator's rates. If `priced` names providers, only their models
 * are priced: all bundled rates take 20 ms to load.
 */
export function openPriceBook(
  { pricing, providers }: Pick<Config, "pricing" | "providers">,
  stored: Pick<RateStore, "read">,
  priced?: readonly string[],
): PriceBook {
  const lists = new Map(
    providers.flatMap(({ provider, prices }) => (prices === undefined ? [] : [[provider, prices]])),
  );
  const needed = priced && new Set(priced.flatMap((provider) => listsFor(provider, lists.get(provider))));
  return createPriceBook([...loadBundledRates(needed), ...stored.read(), ...pricing.operator], {
    lists: Object.fromEntries(lists),
  });
}
