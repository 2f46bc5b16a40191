import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { divideHalfEven, parseDecimal, parseDecimalToPico } from "../../../core/pricing/decimal.ts";

describe("parseDecimalToPico()", () => {
  const readings: [text: string, picoUsd: bigint | null][] = [
    ["0", 0n],
    ["1", 1_000_000_000_000n],
    ["0.1", 100_000_000_000n],
    ["+0.25", 250_000_000_000n],
    ["-0.5", -500_000_000_000n],
    [".5", 500_000_000_000n],
    ["2.", 2_000_000_000_000n],
    ["1.5e-7", 150_000n],
    ["1E+3", 1_000_000_000_000_000n],
    ["0.000000000001", 1n],
    ["0.0000000000005", 0n],
    ["0.0000000000015", 2n],
    ["0.0000000000025", 2n],
    ["0.00000000000250000001", 3n],
    ["-0.0000000000015", -2n],
    ["5e-13", 0n],
    ["1e-400", 0n],
    ["123456789.123456789012", 123_456_789_123_456_789_012n],
    ["", null],
    [".", null],
    ["-", null],
    ["e5", null],
    ["1e", null],
    ["1e1000", null],
    ["1,5", null],
    ["0x10", null],
    [" 1", null],
    ["NaN", null],
    ["Infinity", null],
    ["٣", null],
    ["9".repeat(101), null],
  ];
  for (const [text, picoUsd] of readings) {
    it(`reads ${JSON.stringify(text.slice(0, 30))} as ${picoUsd}`, () => {
      assert.equal(parseDecimalToPico(text), picoUsd);
    });
  }

  it("agrees with the plain decimal for any exponent", () => {
    // Seen to fail with the exponent's sign dropped.
    const digits = fc.stringMatching(/^[0-9]{1,12}$/);
    fc.assert(
      fc.property(digits, digits, fc.integer({ min: -9, max: 9 }), (whole, fraction, exponent) => {
        const shifted = parseDecimal(`${whole}.${fraction}e${exponent}`, 30);
        const plain = parseDecimal(`${whole}.${fraction}`, 30 + exponent);
        assert.equal(shifted, plain);
      }),
    );
  });
});

describe("divideHalfEven()", () => {
  it("is within half of the quotient, and even at exactly half", () => {
    // Seen to fail with rounding half up.
    fc.assert(
      fc.property(
        fc.bigInt({ min: -60n, max: 60n }),
        fc.bigInt({ min: 1n, max: 12n }),
        (numerator, denominator) => {
          const quotient = divideHalfEven(numerator, denominator);
          const twiceError = (quotient * denominator - numerator) * 2n;
          assert.ok(twiceError <= denominator && twiceError >= -denominator);
          if (twiceError === denominator || twiceError === -denominator) assert.equal(quotient % 2n, 0n);
        },
      ),
    );
  });

  it("rejects a denominator that is not positive", () => {
    assert.throws(() => divideHalfEven(1n, 0n), /denominator must be positive: current value is 0/);
  });
});
