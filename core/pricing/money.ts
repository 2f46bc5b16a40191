import { divideHalfEven, PICO_USD_PER_USD, parseDecimal } from "./decimal.ts";

/** Pico-USD in one minor unit of the wire (a millicent, 1/100,000 USD). Source: decisions, "Tokens and money". */
export const PICO_USD_PER_MINOR_UNIT = 10_000_000n;

/**
 * The most that one call may cost, in pico-USD: what a store's 64-bit integer holds, above nine million USD. Decision: a
 * figure beyond it is a mistake, and a record without a cost is worth more than no record.
 */
export const MAX_COST_PICO_USD = 2n ** 63n - 1n;

/** The largest rate, 10^9 USD per million tokens: factors times it still count exactly. */
const MAX_RATE = 1_000_000_000_000_000n;

/** Digits after the point of a USD rate that an integer number of micro-USD can say. */
const RATE_PLACES = 6;

/** Rounds a cost half to even to integer millicents, what the wire calls `cost_usd_minor_units`. */
export function toMinorUnits(costPicoUsd: bigint): bigint {
  return divideHalfEven(costPicoUsd, PICO_USD_PER_MINOR_UNIT);
}

/** The cost that a daemon meant which sent minor units alone. */
export function fromMinorUnits(minorUnits: number | bigint): bigint {
  return BigInt(minorUnits) * PICO_USD_PER_MINOR_UNIT;
}

/**
 * Reads a rate in USD per million tokens as integer micro-USD per million tokens, beyond six places half to even;
 * `null` when the text is no decimal number, is negative, or is above 10^9 USD.
 */
export function parseRateText(text: string): number | null {
  const microUsd = parseDecimal(text, RATE_PLACES);
  if (microUsd === null || microUsd < 0n || microUsd > MAX_RATE) return null;
  return Number(microUsd);
}

/** Writes a rate the way `parseRateText` reads it: the shortest decimal text, in USD per million tokens. */
export function formatRateText(microUsd: number): string {
  return decimalText(BigInt(microUsd), RATE_PLACES, 0);
}

/** The exact amount as the shortest decimal text in USD, the way `parseDecimalToPico` reads it. */
export function formatPicoUsd(picoUsd: bigint): string {
  return decimalText(picoUsd, 12, 0);
}

/**
 * An amount for people: a dollar sign, grouped thousands and cents; below one dollar enough places to show four
 * digits, at most the exact twelve. Rounded half to even: for sums and for the wire use the exact value.
 */
export function formatUsd(picoUsd: bigint): string {
  const magnitude = picoUsd < 0n ? -picoUsd : picoUsd;
  const places = magnitude === 0n || magnitude >= PICO_USD_PER_USD ? 2 : placesForFourDigits(magnitude);
  const rounded = divideHalfEven(magnitude, 10n ** BigInt(12 - places));
  const [whole = "", fraction = ""] = decimalText(rounded, places, 2).split(".");
  const sign = picoUsd < 0n && rounded !== 0n ? "-" : "";
  return `${sign}$${whole.replace(/\B(?=(?:\d{3})+$)/g, ",")}.${fraction}`;
}

function placesForFourDigits(magnitude: bigint): number {
  return Math.min(12, 16 - magnitude.toString().length);
}

function decimalText(scaled: bigint, places: number, minPlaces: number): string {
  const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(places + 1, "0");
  const whole = digits.slice(0, digits.length - places);
  const fraction = digits
    .slice(digits.length - places)
    .replace(/0+$/, "")
    .padEnd(minPlaces, "0");
  return `${scaled < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}
