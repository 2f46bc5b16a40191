import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { formatRunUser, readRunUser } from "../../../../core/metering/attribution/run-label.ts";
import { normaliseSlug } from "../../../../core/values/slug/normalise-slug.ts";

const runIds = fc.stringMatching(/^[a-z0-9]{12}$/);

describe("formatRunUser()", () => {
  // Found when `:` was not escaped, and when `.` was taken for the end of the project.
  it("writes what readRunUser() reads, in characters that a URL need not encode", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "Z", "0", ":", "/", "_", "-", ".", "~", " "), maxLength: 80 }),
        fc.boolean(),
        runIds,
        (name, isGiven, runId) => {
          const label = { project: normaliseSlug(name), isGiven, runId };
          const user = formatRunUser(label);
          assert.match(user, /^[a-z0-9._~-]+$/);
          assert.deepEqual(readRunUser(user), label);
        },
      ),
    );
  });
});

describe("readRunUser()", () => {
  for (const user of ["shop", "a.b", "shop.~p123", "shop.~x0123456789ab", "Shop.~p0123456789ab", ""]) {
    it(`takes ${JSON.stringify(user)} for a project's name`, () => assert.equal(readRunUser(user), null));
  }
});
