/** Pico-USD (10^-12 USD) in one USD. Source: docs/specification.md#money-and-rates. */
export const PICO_USD_PER_USD = 1_000_000_000_000n;

/** Digits after the decimal point that a pico-USD amount keeps. */
const PICO_PLACES = 12;

/** Maximum length of an amount. The limit bounds the big-integer arithmetic that a hostile response can cause. */
const MAX_TEXT_LENGTH = 100;

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Divides and rounds half to even. The numerator may be negative; the denominator must be positive. */
export function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  if (denominator <= 0n)
    throw new RangeError(`the denominator must be positive: current value is ${denominator}`);
  const magnitude = numerator < 0n ? -numerator : numerator;
  let quotient = magnitude / denominator;
  const twiceRemainder = (magnitude % denominator) * 2n;
  if (twiceRemainder > denominator || (twiceRemainder === denominator && (quotient & 1n) === 1n))
    quotient += 1n;
  return numerator < 0n ? -quotient : quotient;
}

/**
 * Parses a decimal number (JSON's notation, also with a leading `+` or as `.5`) into an integer count of 10^-`places`,
 * rounded half to even. Returns `null` if the text is not a decimal number or is longer than 100 characters.
 */
export function parseDecimal(text: string, places: number): bigint | null {
  if (text.length > MAX_TEXT_LENGTH) return null;
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  if (whole === "" && fraction === "") return null;
  const digits = BigInt(whole + fraction);
  const shift = Number(exponent) - fraction.length + places;
  const magnitude =
    shift >= 0 ? digits * 10n ** BigInt(shift) : divideHalfEven(digits, 10n ** BigInt(-shift));
  return sign === "-" ? -magnitude : magnitude;
}

/**
 * Parses a decimal amount of USD into pico-USD, rounded half to even beyond twelve places. Returns `null` if the text is
 * not a decimal number. No floating point is involved: pass the text that the provider sent, not a parsed number.
 */
export function parseDecimalToPico(text: string): bigint | null {
  return parseDecimal(text, PICO_PLACES);
}
