import { formatCount } from "../values/text/format-count.ts";
import { divideHalfEven, PICO_USD_PER_USD, parseDecimal } from "./decimal.ts";

/** Pico-USD in one minor unit of the wire, a millicent (1/100,000 USD). Source: docs/specification.md#money-and-rates. */
export const PICO_USD_PER_MINOR_UNIT = 10_000_000n;

/**
 * Maximum cost of a call, in pico-USD: the largest 64-bit integer, over nine million USD. Decision: a larger amount is an
 * error, and the call is stored without a cost.
 */
export const MAX_COST_PICO_USD = 2n ** 63n - 1n;

/** Maximum rate, 10^9 USD per million tokens. Products with factors are still exact. */
const MAX_RATE = 1_000_000_000_000_000n;

/** 1 to 10^12, computed once, because pages format thousands of amounts. */
const POWERS_OF_TEN = Array.from({ length: 13 }, (_, exponent) => 10n ** BigInt(exponent));

/** Decimal places of a USD rate in integer micro-USD. */
const RATE_PLACES = 6;

/** Converts a cost to integer millicents, rounded half to even: `cost_usd_minor_units` on the wire. */
export function toMinorUnits(costPicoUsd: bigint): bigint {
  return divideHalfEven(costPicoUsd, PICO_USD_PER_MINOR_UNIT);
}

/** Converts minor units to pico-USD, for daemons that send only minor units. */
export function fromMinorUnits(minorUnits: number | bigint): bigint {
  return BigInt(minorUnits) * PICO_USD_PER_MINOR_UNIT;
}

/**
 * Parses a rate in USD per million tokens into integer micro-USD, rounded half to even. Returns `null` if the text is not a
 * decimal number, is negative, or exceeds 10^9 USD.
 */
export function parseRateText(text: string): number | null {
  const microUsd = parseDecimal(text, RATE_PLACES);
  if (microUsd === null || microUsd < 0n || microUsd > MAX_RATE) return null;
  return Number(microUsd);
}

/** Formats a rate as the shortest decimal text in USD per million tokens, the inverse of `parseRateText`. */
export function formatRateText(microUsd: number): string {
  return decimalText(BigInt(microUsd), RATE_PLACES, 0);
}

/** Formats a rate as prices are written: with two decimals, or more if it has them. */
export function formatRate(microUsd: number): string {
  return decimalText(BigInt(microUsd), RATE_PLACES, 2);
}

/** Formats an exact amount as the shortest decimal text in USD, the inverse of `parseDecimalToPico`. */
export function formatPicoUsd(picoUsd: bigint): string {
  return decimalText(picoUsd, 12, 0);
}

/**
 * Formats an amount for people: a dollar sign, thousands separators and cents. Below one dollar, it shows four significant
 * digits, with at most twelve places. Rounded half to even; use the exact value for sums and on the wire.
 */
export function formatUsd(picoUsd: bigint): string {
  const magnitude = picoUsd < 0n ? -picoUsd : picoUsd;
  const places = magnitude === 0n || magnitude >= PICO_USD_PER_USD ? 2 : placesForFourDigits(magnitude);
  return dollarText(picoUsd, places, 2);
}

/**
 * Formats an amount with a fixed number of decimal places, so that decimal points line up. A positive amount that rounds
 * to zero becomes `<$0.0001`, for four places.
 */
export function formatFixedUsd(picoUsd: bigint, places: number): string {
  const smallest = POWERS_OF_TEN[12 - places] as bigint;
  const isTooSmall = picoUsd > 0n && picoUsd * 2n <= smallest;
  return isTooSmall ? `<${dollarText(smallest, places, places)}` : dollarText(picoUsd, places, places);
}

/** Formats an amount rounded half to even to `places`, without trailing zeros beyond `minPlaces`. */
function dollarText(picoUsd: bigint, places: number, minPlaces: number): string {
  const magnitude = picoUsd < 0n ? -picoUsd : picoUsd;
  const rounded = divideHalfEven(magnitude, POWERS_OF_TEN[12 - places] as bigint);
  const [whole = "", fraction = ""] = decimalText(rounded, places, minPlaces).split(".");
  const sign = picoUsd < 0n && rounded !== 0n ? "-" : "";
  return `${sign}$${formatCount(whole)}.${fraction}`;
}

function placesForFourDigits(magnitude: bigint): number {
  return Math.min(12, 16 - magnitude.toString().length);
}

function decimalText(scaled: bigint, places: number, minPlaces: number): string {
  const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(places + 1, "0");
  const whole = digits.slice(0, digits.length - places);
  const all = digits.slice(digits.length - places);
  const fraction = places === minPlaces ? all : all.replace(/0+$/, "").padEnd(minPlaces, "0");
  return `${scaled < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}
