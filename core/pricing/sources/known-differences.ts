import { normaliseModelName } from "../model-match.ts";
import { priceListOf } from "../provider-names.ts";
import type { TokenRates } from "../rates.ts";
import { KNOWN_DIFFERENCES, type KnownDifference } from "./known-differences.data.ts";

/** Finds the reason for a rate of a list that differs from the bundled one; null if the list states another rate by now. */
export type FindKnownDifference = (
  source: string,
  provider: string,
  model: string,
  field: keyof TokenRates,
  rate: number,
) => KnownDifference | null;

/** Indexes the known differences. */
export function indexKnownDifferences(
  known: readonly KnownDifference[] = KNOWN_DIFFERENCES,
): FindKnownDifference {
  const byRate = new Map<string, KnownDifference>();
  for (const difference of known) {
    for (const line of difference.models) {
      const [model = "", ...rates] = line.split(" ");
      for (const rate of rates)
        byRate.set(
          `${difference.source} ${difference.provider} ${normaliseModelName(model)} ${rate}`,
          difference,
        );
    }
  }
  return (source, provider, model, field, rate) =>
    byRate.get(`${source} ${priceListOf(provider)} ${normaliseModelName(model)} ${field}=${rate}`) ?? null;
}

/** Formats the reason, with the page that states the right price. */
export function formatReason({ reason, page }: Pick<KnownDifference, "reason" | "page">): string {
  return page === null ? reason : `${reason} (${page})`;
}
