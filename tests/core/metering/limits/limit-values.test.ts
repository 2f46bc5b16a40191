import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  readAmount,
  readClaim,
  readClassicReset,
  readDecimal,
  readDuration,
  readName,
  readResetAt,
  windowOfMs,
} from "../../../../core/metering/limits/limit-values.ts";
import { DAY, HOUR, MINUTE, now } from "./limits.rig.ts";

describe("readDecimal() and readAmount()", () => {
  it("read numbers of at least 0, in JSON or as text", () => {
    for (const [value, expected] of [
      [5, 5],
      ["5", 5],
      ["0.91", 0.91],
      ["5e-05", 0.00005],
      [-1, null],
      ["-1", null],
      [Number.NaN, null],
      [Number.POSITIVE_INFINITY, null],
      ["", null],
      [" 5", null],
      ["0x10", null],
      ["1e9", null],
      [true, null],
      [undefined, null],
    ] as const)
      assert.equal(readDecimal(value), expected, String(value));
    assert.equal(readAmount("0.5"), null);
    assert.equal(readAmount(2 ** 53), null);
  });
});

describe("readDuration()", () => {
  it("reads units in their order", () => {
    for (const [text, expected] of [
      ["12ms", 12],
      ["6m0s", 6 * MINUTE],
      ["2m59.56s", 179_560],
      ["34.07s", 34_070],
      ["1d2h3m4s5ms", DAY + 2 * HOUR + 3 * MINUTE + 4_005],
      ["", null],
      ["5", null],
      ["5s6m", null],
      ["-5s", null],
      ["5 s", null],
    ] as const)
      assert.equal(readDuration(text), expected, text);
    assert.equal(readDuration(5), null);
  });
});

describe("readResetAt() and readClassicReset()", () => {
  it("read seconds and milliseconds since the epoch, and ISO 8601", () => {
    assert.equal(readResetAt(`${now / 1_000}`, now), now);
    assert.equal(readResetAt(now, now), now);
    assert.equal(readResetAt(new Date(now).toISOString(), now), now);
    assert.equal(readResetAt("soon", now), null);
    assert.equal(readResetAt({}, now), null);
  });

  it("reject what is more than a day past or 400 days ahead", () => {
    assert.equal(readResetAt(now - DAY, now), now - DAY);
    assert.equal(readResetAt(now - DAY - 1_000, now), null);
    assert.equal(readResetAt(now + 400 * DAY, now), now + 400 * DAY);
    assert.equal(readResetAt(now + 401 * DAY, now), null);
  });

  it("distinguish seconds from now from seconds since the epoch", () => {
    assert.equal(readClassicReset("59", now), now + 59_000);
    assert.equal(readClassicReset(`${now / 1_000 + 59}`, now), now + 59_000);
    assert.equal(readClassicReset("-1", now), null);
    assert.equal(readClassicReset("9999d", now), null);
  });
});

describe("readName()", () => {
  it("accepts lower-case letters, digits and a few signs", () => {
    assert.equal(readName("GPT-5.3 Codex Spark"), "gpt-5.3_codex_spark");
    assert.equal(readName("openai/gpt-oss:free"), "openai/gpt-oss:free");
    assert.equal(readName("日本"), null);
    assert.equal(readName("\u001b[31m"), "31m");
    assert.equal(readName("a".repeat(100))?.length, 64);
    assert.equal(readName(5), null);
  });
});

describe("readClaim() and windowOfMs()", () => {
  it("name windows by their length", () => {
    const names = (claim: string) => {
      const { window, scope = null } = readClaim(claim) ?? {};
      return window === undefined ? null : [window, scope];
    };
    assert.deepEqual(names("5h"), ["5h", null]);
    assert.deepEqual(names("five_hour"), ["5h", null]);
    assert.deepEqual(names("seven_day_opus"), ["7d", "opus"]);
    assert.deepEqual(names("7d_oi"), ["7d", "overage_included"]);
    assert.deepEqual(names("one_week"), ["7d", null]);
    assert.deepEqual(names("twenty_four_hour"), ["1d", null]);
    for (const claim of ["", "overage", "hour", "x_day", "constructor_day", "0d", "9999w", "5h_Ω"])
      assert.equal(names(claim), null, claim);
    assert.equal(windowOfMs(90 * MINUTE)?.window, "90m");
    assert.equal(windowOfMs(1_500), null);
    assert.equal(windowOfMs(0), null);
    assert.equal(windowOfMs(null), null);
  });
});
