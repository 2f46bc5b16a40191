import { PROVIDERS } from "../../core/metering/usage/providers.ts";
import { fallbackLists, priceListOf } from "../../core/pricing/provider-names.ts";
import type { CloudSettings } from "./ports.ts";

/** Returns the names of the price lists that can price a metered request. Rates of other lists are not stored. */
export function meteredPriceLists({ providers }: Pick<CloudSettings, "providers">): ReadonlySet<string> {
  const configured = providers.map(({ provider, prices }) => prices ?? provider);
  const names = [...PROVIDERS.map(({ provider }) => provider), ...configured].map(priceListOf);
  return new Set(names.flatMap((name) => [name, ...fallbackLists(name)]));
}
