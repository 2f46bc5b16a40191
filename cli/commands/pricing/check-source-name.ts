import { UsageError } from "clipanion";
import { PRICE_SOURCES } from "../../../core/pricing/sources/price-sources.ts";

/** Throws a usage error unless the name is that of a source. */
export function checkSourceName(name: string): void {
  const names = [...PRICE_SOURCES.map((source) => source.name as string), "cloud"];
  if (!names.includes(name)) throw new UsageError(`Unknown source: ${name}. Expected: ${names.join(", ")}.`);
}
