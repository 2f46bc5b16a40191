import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  readAnyValue,
  readAttributes,
  readNanos,
  readUsdAttribute,
} from "../../../../core/metering/client-reports/otlp-attributes.ts";
import { AT, attributes } from "./otlp.rig.ts";

describe("readAnyValue()", () => {
  it("reads strings, booleans and numbers, and nothing else", () => {
    const cases: readonly [value: unknown, expected: unknown][] = [
      [{ stringValue: "" }, ""],
      [{ boolValue: false }, false],
      [{ intValue: "42" }, 42],
      [{ intValue: 42 }, 42],
      [{ intValue: "many" }, null],
      [{ doubleValue: 0.5 }, 0.5],
      [{ doubleValue: "0.5" }, null],
      [{ arrayValue: { values: [] } }, null],
      ["text", null],
      [null, null],
    ];
    for (const [value, expected] of cases) assert.equal(readAnyValue(value), expected, JSON.stringify(value));
  });
});

describe("readAttributes()", () => {
  it("takes the last of a repeated key, and leaves out what it can't read", () => {
    const list = [
      ...attributes({ a: 1, on: true }),
      ...attributes({ a: 2 }),
      { key: 5, value: { stringValue: "x" } },
      { key: "b", value: {} },
    ];
    assert.deepEqual(
      [...readAttributes({ attributes: list })],
      [
        ["a", 2],
        ["on", true],
      ],
    );
  });
});

describe("readUsdAttribute()", () => {
  it("reads a number or a string, and treats anything that is not an amount as unknown", () => {
    const cases: readonly [value: string | number | boolean, expected: bigint | null][] = [
      [0.25, 250_000_000_000n],
      ["0.25", 250_000_000_000n],
      [0, 0n],
      [true, null],
      ["free", null],
      [-0.01, null],
      [1e30, null],
    ];
    for (const [value, expected] of cases)
      assert.equal(readUsdAttribute(new Map([["cost", value]]), "cost"), expected, `${value}`);
    assert.equal(readUsdAttribute(new Map(), "cost"), null);
  });
});

describe("readNanos()", () => {
  it("reads a string or a number of nanoseconds, if the time is possible", () => {
    const cases: readonly [value: unknown, expected: number | null][] = [
      [`${AT}000001`, AT],
      [AT * 1e6, AT],
      ["0", null],
      [Date.UTC(2100, 0, 1) * 1e6, null],
      [Number.NaN, null],
      ["1e18", null],
      [{}, null],
    ];
    for (const [value, expected] of cases) assert.equal(readNanos(value), expected, `${value}`);
  });
});
