import { asObject, readCount } from "../token-counts.ts";

/** Our media with the modalities that Gemini states. A document counts as an image, because it is priced as one. */
export const GEMINI_MEDIA = [
  ["audio", ["AUDIO"]],
  ["image", ["IMAGE", "DOCUMENT"]],
  ["video", ["VIDEO"]],
] as const;

/** Returns the tokens of the modalities in a list of `{modality, tokenCount}`; 0 if there is no such list. */
export function modalityCount(details: unknown, modalities: readonly string[]): number {
  if (!Array.isArray(details)) return 0;
  let sum = 0;
  for (const entry of details) {
    const { modality, tokenCount } = asObject(entry);
    if (typeof modality === "string" && modalities.includes(modality)) sum += readCount(tokenCount) ?? 0;
  }
  return sum;
}
