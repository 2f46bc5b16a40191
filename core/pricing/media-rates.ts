import type { RequestKind } from "../values/record.ts";
import { MEDIA_AT_TEXT_RATE } from "./media-rates.data.ts";
import { matchesRule } from "./model-match.ts";
import { priceListOf } from "./provider-names.ts";
import type { RateRow, Rates } from "./rates.ts";
import type { UsageExtraName } from "./usage-extras.ts";

/** For each medium in the cache, the same medium outside it. */
const FRESH: Readonly<Partial<Record<UsageExtraName, UsageExtraName>>> = {
  audio_cache_read_tokens: "audio_input_tokens",
  image_cache_read_tokens: "image_input_tokens",
};

/**
 * What a medium's tokens cost where the list has no rate for them: a rate in micro-USD per million; `text` if they cost what
 * text does; `time` if the audio's duration is billed in their place; null if the price is unknown.
 *
 * - Without a discount for any cache read, a medium read from the cache costs what it costs fresh.
 * - `MEDIA_AT_TEXT_RATE` lists the media that cost what text does. A list that has a rate for a fresh medium does not price the
 *   cached one as text.
 */
export function findMediumRate(
  name: UsageExtraName,
  row: RateRow,
  besides: Rates,
  { requestKind, extras }: { requestKind: RequestKind; extras: Readonly<Record<string, number>> | null },
): number | "text" | "time" | null {
  const fresh = FRESH[name] ?? name;
  const freshRate = besides.extras[fresh];
  if (freshRate !== undefined) return row.rates.cacheRead === null ? freshRate : null;
  if (fresh === "audio_input_tokens" && besides.extras.audio_milliseconds !== undefined)
    return (extras?.audio_milliseconds ?? 0) > 0 ? "time" : null;
  const list = priceListOf(row.provider);
  const model = row.model.toLowerCase();
  const atTextRate = MEDIA_AT_TEXT_RATE.some(
    (entry) =>
      entry.extras.includes(name) &&
      (entry.provider === null || entry.provider === list) &&
      (entry.models === null || matchesRule(entry.models, model)) &&
      !(entry.exceptEmbeddings && requestKind === "embedding"),
  );
  return atTextRate ? "text" : null;
}
