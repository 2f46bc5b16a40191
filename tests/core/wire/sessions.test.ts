import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseWire } from "../../../core/wire/parse.ts";
import { sessionDetailSchema, sessionsSchema } from "../../../core/wire/sessions.ts";

const session = {
  session_id: "5".repeat(32),
  session_source: "stated",
  project: null,
  user: { id: "ann", name: "Ann" },
  started_at: "2026-11-21T11:30:00.000Z",
  ended_at: "2026-11-21T11:51:00.000Z",
  agents: 1,
  requests: 3,
  failed_requests: 1,
  unpriced_requests: 0,
  incomplete_requests: 0,
  input_tokens: "18446744073709551616",
  spent_pico_usd: "7",
  plan_usage_pico_usd: "0",
  unknown_billing_pico_usd: "0",
};

describe("the answers about sessions", () => {
  const list = (item: object) =>
    parseWire(sessionsSchema, {
      from: "2026-11-01T00:00:00.000Z",
      to: "2026-11-21T12:00:00.000Z",
      items: [item],
      has_more: false,
    });

  it("hold sums beyond a double's integers, and null for what an answer leaves out", () => {
    const parsed = list(session);
    assert.ok(parsed.ok);
    const [item] = parsed.value.items;
    assert.deepEqual(
      [item?.input_tokens, item?.cache_read_tokens, item?.machine],
      ["18446744073709551616", null, null],
    );
  });

  it("reject an id that is not a hash, and a sum that is not a whole number", () => {
    assert.equal(list({ ...session, session_id: "my-session" }).ok, false);
    assert.equal(list({ ...session, input_tokens: "-1" }).ok, false);
  });

  it("have the requests of one session", () => {
    assert.equal(parseWire(sessionDetailSchema, { session, requests: [], has_more: false }).ok, true);
    assert.equal(parseWire(sessionDetailSchema, { session, requests: [{}], has_more: false }).ok, false);
  });
});
