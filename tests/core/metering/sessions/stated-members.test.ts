import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  MAX_STATED_CHARACTERS,
  pickStatedMembers,
  readStatedMembers,
  STATED_MEMBERS,
} from "../../../../core/metering/sessions/stated-members.ts";
import { compileMemberPaths, pickMembers } from "../../../../core/metering/usage/member-picker.ts";

const paths = compileMemberPaths(STATED_MEMBERS);
const pick = (text: string) => pickStatedMembers(pickMembers(new TextEncoder().encode(text), paths).string);

describe("readStatedMembers()", () => {
  it("reads strings at every path, and nothing else", () => {
    const body = {
      metadata: { user_id: "u", sessionId: "q", other: "x" },
      client_metadata: { session_id: "s", "x-codex-turn-metadata": "{}" },
      prompt_cache_key: "k",
      request: { session_id: "g", contents: [] },
      messages: [{ session_id: "not this" }],
    };
    assert.deepEqual(Object.fromEntries(readStatedMembers(body) ?? []), {
      "metadata.user_id": "u",
      "metadata.sessionId": "q",
      "client_metadata.session_id": "s",
      "client_metadata.x-codex-turn-metadata": "{}",
      prompt_cache_key: "k",
      "request.session_id": "g",
    });
  });

  it("returns null if there are none", () => {
    for (const metadata of [undefined, null, 5, "user_id", [], {}, { user_id: "" }, { user_id: { a: 1 } }])
      assert.equal(readStatedMembers({ metadata, session_id: 5, request: null }), null);
    assert.equal(readStatedMembers({ session_id: "x".repeat(MAX_STATED_CHARACTERS + 1) }), null);
    assert.equal(pick('{"model":"m"}'), null);
    assert.equal(pick(JSON.stringify({ session_id: "x".repeat(MAX_STATED_CHARACTERS + 1) })), null);
  });

  it("reads the same from a body that is parsed and one that is not kept", () => {
    const value = fc.oneof(fc.string(), fc.integer(), fc.constant(null));
    const inner = fc.dictionary(fc.constantFrom("user_id", "session_id", "thread_id", "x"), value);
    const outer = fc.constantFrom("metadata", "client_metadata", "request");
    const body = fc.tuple(fc.dictionary(outer, inner), fc.dictionary(fc.constant("session_id"), value));
    fc.assert(
      fc.property(body, ([nested, flat]) => {
        const given = { ...nested, ...flat };
        assert.deepEqual(pick(JSON.stringify(given)), readStatedMembers(given));
      }),
    );
  });
});
