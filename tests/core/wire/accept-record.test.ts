import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { recordFields, wireFields } from "../../../core/values/record-fields.ts";
import { acceptRecord } from "../../../core/wire/accept-record.ts";
import { metadataRecordSchema } from "../../../core/wire/metadata-record.ts";
import { parseWire } from "../../../core/wire/parse.ts";

const valid = {
  request_id: "01994B8E-7c00-7000-8000-000000000000",
  requested_at: "2026-11-21T10:00:00.000Z",
  provider: "openai",
  model: "gpt-5",
};

/** Values at the bounds of each type, valid and not. */
const value = fc.oneof(
  fc.constantFrom<unknown>(
    ...[
      "",
      "a",
      "a\0b",
      "a\ud800",
      "\u{1F600}",
      "chat",
      "plan",
      "unknown",
      "computed",
      "bundled",
      "keyed",
      "server_error",
    ],
    ...[
      "m".repeat(64),
      "m".repeat(65),
      "m".repeat(256),
      "m".repeat(257),
      "\u{1F600}".repeat(40),
      "\u{1F600}".repeat(64),
    ],
    ...[
      "0",
      "00",
      "7",
      "-1",
      "1.5",
      "1".repeat(22),
      "1".repeat(23),
      "0".repeat(64),
      "a".repeat(64),
      "A".repeat(64),
    ],
    ...[
      valid.request_id,
      valid.request_id.toLowerCase(),
      valid.requested_at,
      "2026-11-21 10:00",
      "2026-02-30T00:00:00Z",
    ],
    ...[
      0,
      -0,
      -1,
      1.5,
      5,
      99,
      100,
      999,
      1000,
      200.5,
      2 ** 53 - 1,
      2 ** 53,
      Number.NaN,
      Number.POSITIVE_INFINITY,
    ],
    ...[true, false, null, undefined, [], ["a"], {}, { pages: 2 }, { pages: -1 }, 5n],
  ),
  fc.string({ unit: fc.constantFrom("a", "0", "f", "-", "\0", "\ud83d"), maxLength: 40, size: "max" }),
);

const columns = recordFields.map(({ column }) => column);

describe("acceptRecord()", () => {
  // Found: a length that was off by one, a name that could be empty, an instant that was not checked, and a count that could be
  // negative.
  it("returns what the schema returns, or leaves the decision to it", () => {
    let accepted = 0;
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...columns, "unknown_column"), value, { maxKeys: 4 }),
        (changes) => {
          const input = { ...valid, ...changes };
          const record = acceptRecord(input);
          if (record === null) return;
          accepted += 1;
          assert.deepEqual({ ok: true, value: { ...record } }, parseWire(metadataRecordSchema, input));
        },
      ),
      { numRuns: 2_000 },
    );
    assert.ok(accepted > 100, "the property was about something");
  });

  it("decides as the schema does on every field except counts by name", () => {
    for (const { column, type } of wireFields) {
      for (const value of SAMPLES) {
        const input = { ...valid, [column]: value };
        const isValid = parseWire(metadataRecordSchema, input).ok;
        const isLeft = value !== null && type === "counts";
        assert.equal(acceptRecord(input) !== null, isValid && !isLeft, `${column} ${JSON.stringify(value)}`);
      }
    }
  });

  it("drops what is no column", () => {
    const record = acceptRecord({ ...valid, unknown_column: "x", ["__proto__"]: "x" });
    assert.deepEqual(record, acceptRecord(valid));
  });

  for (const value of [null, undefined, 5, "text", [], true])
    it(`leaves ${JSON.stringify(value)} to the schema`, () => assert.equal(acceptRecord(value), null));
});

const SAMPLES: readonly unknown[] = [
  ...[null, true, -1, 0, 7, 99, 100, 999, 1000, 2 ** 53 - 1, 2 ** 53, { pages: 2 }],
  ...[
    "chat",
    "computed",
    "bundled",
    "plan",
    "keyed",
    "server_error",
    "12",
    "a",
    "c".repeat(32),
    "0".repeat(64),
  ],
  ...[valid.request_id, valid.requested_at],
];
