import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import fc from "fast-check";
import { CompiledQuery } from "kysely";
import { arrayColumns, columnArrays } from "../../../cloud/store/row-arrays.ts";
import { describeOnOneEngine, type TestDatabase } from "../kit/engines.ts";

const TYPES = {
  id: "integer",
  text: "text",
  flag: "boolean",
  count: "bigint",
  cost: "numeric",
  counts: "jsonb",
} as const;

/** Characters that JSON or PostgreSQL's arrays treat in a special way. */
const character = fc.constantFrom(..."aN{}[],:;\"\\'\n\t\b\f\r\u0001\u007f\u2028é".split(""), "\u{1F600}");

const text = fc.oneof(fc.constantFrom("", "null", "NULL", " ", "\\", "{}"), fc.string({ unit: character }));

const row = fc.record({
  text: fc.option(text, { nil: null }),
  flag: fc.option(fc.boolean(), { nil: null }),
  count: fc.option(fc.maxSafeNat(), { nil: null }),
  cost: fc.option(fc.constantFrom("0", "-5", "123456789012345678901234567890"), { nil: null }),
  counts: fc.option(fc.dictionary(fc.string({ unit: character }), fc.nat(), { maxKeys: 3 }), { nil: null }),
});

describeOnOneEngine("columnArrays() and arrayColumns()", (engine) => {
  let test: TestDatabase;
  before(async () => {
    test = await engine.open();
  });
  after(() => test.close());

  // Planted: an escape of JSON that arrays do not have, and an object that is not quoted.
  it("send any rows unchanged", async () => {
    const statement = `select id, text, flag, count::text, cost::text, counts from (select ${arrayColumns(TYPES, 1)}) as input order by id`;
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 6 }), async (given) => {
        const rows = given.map((each, id) => ({ id, ...each }));
        const query = CompiledQuery.raw(statement, columnArrays(rows, Object.keys(TYPES)));
        const found = await test.db.executeQuery(query);
        const expected = rows.map(({ count, counts, ...each }) => ({
          ...each,
          count: count === null ? null : String(count),
          counts: counts === null ? null : { ...counts },
        }));
        assert.deepEqual(
          found.rows.map((each) => ({ ...(each as object) })),
          expected.map(({ id, text, flag, count, cost, counts }) => ({
            id,
            text,
            flag,
            count,
            cost,
            counts,
          })),
        );
      }),
      { numRuns: 60 },
    );
  });
});
