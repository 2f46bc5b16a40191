import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isUuid, timeOfUuidV7, uuidV7 } from "../../../core/values/uuid.ts";

describe("timeOfUuidV7()", () => {
  it("returns the time that the id was made with", () => {
    for (const time of [0, 1_800_000_000_123, 2 ** 48 - 1]) {
      assert.equal(timeOfUuidV7(uuidV7(time, new Uint8Array(10))), time);
    }
  });
});

describe("uuidV7()", () => {
  it("lays out time, version, variant and randomness as RFC 9562 says", () => {
    // The example of RFC 9562, appendix A.6.
    const random = Uint8Array.of(0x0c, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f);
    assert.equal(uuidV7(0x017f22e279b0, random), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
  });

  it("rejects too few random bytes", () => {
    assert.throws(() => uuidV7(0, new Uint8Array(9)), RangeError);
  });

  // Planted and found: variant bits taken from the wrong byte, time not padded.
  it("is a version 7 UUID that sorts by time", () => {
    const moment = fc.integer({ min: 0, max: 2 ** 48 - 1 });
    const random = fc.uint8Array({ minLength: 10, maxLength: 10 });
    fc.assert(
      fc.property(moment, moment, random, random, (one, other, a, b) => {
        const ids = [uuidV7(one, a), uuidV7(other, b)] as const;
        for (const id of ids)
          assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        if (one !== other) assert.equal(ids[0] < ids[1], one < other);
      }),
    );
  });
});

describe("isUuid()", () => {
  const rows: [text: string, expected: boolean][] = [
    ["017f22e2-79b0-7cc3-98c4-dc0c0c07398f", true],
    ["017F22E2-79B0-4CC3-98C4-DC0C0C07398F", true],
    ["017f22e279b07cc398c4dc0c0c07398f", false],
    ["{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}", false],
    ["017f22e2-79b0-7cc3-98c4-dc0c0c07398g", false],
    ["017f22e2-79b0-7cc3-98c4-dc0c0c07398f ", false],
    ["", false],
  ];
  for (const [text, expected] of rows) {
    it(`${expected ? "accepts" : "rejects"} ${JSON.stringify(text)}`, () => {
      assert.equal(isUuid(text), expected);
    });
  }
});
