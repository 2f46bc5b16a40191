import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { encodeBase64Url } from "../../../core/wire/base64.ts";
import { type CursorBinding, decodeCursor, encodeCursor } from "../../../core/wire/cursor.ts";

const position = { at: 1_763_719_200_000, id: "01994b8e-7c00-7000-8000-000000000000" };
const binding: CursorBinding = {
  workspaceId: "w1",
  query: { endpoint: "traces", project: "shop", model: null, from: 1 },
};
const cursor = encodeCursor(position, binding, sha256);

/** A cursor with a valid checksum and content that we never write. */
function forge(content: string | Uint8Array): string {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const head = new TextEncoder().encode(
    JSON.stringify([
      "w1",
      [
        ["endpoint", "traces"],
        ["from", 1],
        ["project", "shop"],
      ],
    ]),
  );
  const check = sha256(Uint8Array.from([...head, ...bytes])).subarray(0, 12);
  return encodeBase64Url(Uint8Array.from([...check, ...bytes]));
}

describe("decodeCursor()", () => {
  it("returns the position for any order of parameters, with null equal to absent", () => {
    const same = {
      workspaceId: "w1",
      query: { from: 1, project: "shop", user: undefined, endpoint: "traces" },
    };
    assert.deepEqual(decodeCursor(cursor, same, sha256), position);
    assert.match(cursor, /^[\w-]+$/);
  });
  it("rejects content that is not a position", () => {
    assert.deepEqual(
      decodeCursor(forge(JSON.stringify([position.at, position.id])), binding, sha256),
      position,
    );
  });
  const refused: readonly [why: string, binding: CursorBinding][] = [
    ["of another workspace", { ...binding, workspaceId: "w2" }],
    ["of another endpoint", { ...binding, query: { ...binding.query, endpoint: "analytics" } }],
    ["of another filter", { ...binding, query: { ...binding.query, project: "other" } }],
    ["of a query without the filter", { ...binding, query: { ...binding.query, project: null } }],
    ["of a query with one more", { ...binding, query: { ...binding.query, user: "u" } }],
    ["of a number for a text", { ...binding, query: { ...binding.query, from: "1" } }],
  ];
  for (const [why, other] of refused) {
    it(`refuses a cursor ${why}`, () => assert.equal(decodeCursor(cursor, other, sha256), null));
  }
  const malformed: readonly [why: string, text: string][] = [
    ["nothing", ""],
    ["a check alone", encodeBase64Url(new Uint8Array(12))],
    ["no Base64", "!!!!"],
    ["padding", `${cursor}=`],
    ["right check, no JSON", forge("[1,")],
    ["right check, no UTF-8", forge(Uint8Array.of(0xff))],
    ["right check, no list", forge('{"at":1}')],
    ["right check, three parts", forge('[1,"a",2]')],
    ["right check, a fraction", forge('[1.5,"a"]')],
    ["right check, no text", forge("[1,2]")],
  ];
  for (const [why, text] of malformed) {
    it(`refuses ${why}`, () => assert.equal(decodeCursor(text, binding, sha256), null));
  }

  // Three lengths, so that the last character holds 0, 2 and 4 unused bits. Seen to fail with the checksum not
  // compared, and with Base64's unused bits not checked.
  it("refuses a cursor with any one character changed", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (const id of ["a", "ab", "abc"]) {
      const written = encodeCursor({ at: 1, id }, binding, sha256);
      for (let at = 0; at < written.length; at += 1) {
        for (const other of alphabet) {
          if (other === written[at]) continue;
          const changed = written.slice(0, at) + other + written.slice(at + 1);
          assert.equal(decodeCursor(changed, binding, sha256), null, changed);
        }
      }
    }
  });

  // Texts that run together wherever something is not quoted. Seen to fail with the parameters joined by commas.
  it("distinguishes any two queries", () => {
    const workspace = fc.constantFrom("w", "w,m,a", "w,p,a");
    const text = fc.constantFrom("a", "a,p,a", 'a"', 'a","p","a');
    const query = fc.dictionary(fc.constantFrom("p", "m"), text);
    fc.assert(
      fc.property(workspace, query, workspace, query, (one, oneQuery, other, otherQuery) => {
        const sorted = (some: object) => JSON.stringify(Object.entries(some).sort());
        const same = one === other && sorted(oneQuery) === sorted(otherQuery);
        const written = encodeCursor(position, { workspaceId: one, query: oneQuery }, sha256);
        const read = decodeCursor(written, { workspaceId: other, query: otherQuery }, sha256);
        assert.equal(read !== null, same);
      }),
      { numRuns: 5_000 },
    );
  });
});
