import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fillNulls, toStoredRequest } from "../../../cloud/store/stored-request.ts";
import { toReceivedRecord } from "../../../core/policy/mod.ts";
import { createPriceBook, readPublishedRate } from "../../../core/pricing/mod.ts";
import { parseMetadataRecord } from "../../../core/wire/mod.ts";

const sender = { machineId: null, userId: "u1", receivedAt: Date.UTC(2026, 10, 21) };

/** A book in which a model's fresh input costs so many USD per million tokens. */
function bookAt(input: string) {
  const rate = { provider: "acme", model: "m-1", input, output: "1", cache_read: null, cache_write: null };
  const read = readPublishedRate(rate, "auto", "2026-11-01");
  assert.ok(read.ok);
  return createPriceBook([read.row]);
}

function stored(fields: object, book: ReturnType<typeof bookAt>) {
  const parsed = parseMetadataRecord({
    request_id: "01900000-0000-7000-8000-000000000001",
    requested_at: "2026-11-21T10:00:00.000Z",
    provider: "acme",
    model: "m-1",
    ...fields,
  });
  assert.ok(parsed.ok);
  return toStoredRequest(toReceivedRecord(parsed.value), sender, book);
}

const tokens = { prompt_tokens: 1_000_000, completion_tokens: 0 };

describe("fillNulls()", () => {
  // Planted: priced again with the rates of the day on which the record came again.
  it("leaves a cost that was once found, whatever the rates are now", () => {
    const first = stored(tokens, bookAt("2"));
    assert.equal(first.cost_pico_usd, "2000000000000");
    const dearer = bookAt("9");
    const filled = fillNulls(first, stored({ ...tokens, project: "web" }, dearer), dearer);
    assert.deepEqual([filled?.project, filled?.cost_pico_usd], ["web", "2000000000000"]);
  });

  it("prices by the rates of now what had no cost", () => {
    const first = stored({}, bookAt("2"));
    assert.equal(first.cost_pico_usd, null);
    const book = bookAt("9");
    assert.equal(fillNulls(first, stored(tokens, book), book)?.cost_pico_usd, "9000000000000");
  });

  it("is null where nothing is said that was not said before", () => {
    const book = bookAt("2");
    assert.equal(fillNulls(stored(tokens, book), stored(tokens, book), book), null);
  });
});
