import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import {
  type RequestHeadEdits,
  rewriteRequestHead,
} from "../../../../core/metering/exchange/request-head-rewrite.ts";
import { latin1Bytes, latin1Text } from "./recording.rig.ts";

const RAW =
  "POST http://a/v1?x=\xe9 HTTP/1.1\r\nhOST:\t a:1\r\nProxy-Connection: x\r\nAccept:  */*  \r\n" +
  "proxy-authorization: y\r\nX-Meter-Project: p\r\nHost: twice\r\n\r\n";

const rewrite = (edits: RequestHeadEdits, raw = RAW) =>
  latin1Text(rewriteRequestHead(latin1Bytes(raw), edits));

describe("rewriteRequestHead()", () => {
  it("changes nothing but the requested edits", () => {
    assert.equal(rewrite({}), RAW);
    // Planted: header values were trimmed.
    const line = fc
      .tuple(fc.constantFrom("a", "Host", "X-Y"), fc.stringMatching(/^[\t \x21-\x7e\x80-\xff]{0,12}$/))
      .map(([name, value]) => `${name}:${value}\r\n`);
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const raw = `GET /\xff HTTP/1.1\r\n${lines.join("")}\r\n`;
        assert.equal(rewrite({ remove: ["b", "xy*"] }, raw), raw);
      }),
    );
  });

  it("replaces the target alone", () => {
    assert.equal(rewrite({ target: "/v1?x=\xe9" }), RAW.replace("http://a/v1", "/v1"));
  });

  it("replaces a value in place, keeps the spelling of its name, and removes repeats", () => {
    assert.equal(
      rewrite({ set: { host: "b" } }),
      RAW.replace("hOST:\t a:1", "hOST:\t b").replace("Host: twice\r\n", ""),
    );
  });

  it("appends a missing header", () => {
    assert.equal(rewrite({ set: { via: "1.1 m" } }), RAW.replace(/\r\n$/, "via: 1.1 m\r\n\r\n"));
  });

  it("removes names and prefixes, but not names in set", () => {
    assert.equal(
      rewrite({ remove: ["proxy-*", "x-meter-project", "host"], set: { host: "b" } }),
      "POST http://a/v1?x=\xe9 HTTP/1.1\r\nhOST:\t b\r\nAccept:  */*  \r\n\r\n",
    );
  });

  it("rejects edits that would corrupt the head, without showing the value", () => {
    for (const target of ["", "/a b", "/\r\n", "/€"]) {
      assert.throws(() => rewrite({ target }), /^RangeError: Cannot write the request target: "/);
    }
    for (const value of ["secret\r\nX: y", "secret\0", "secret€"]) {
      assert.throws(
        () => rewrite({ set: { host: value } }),
        (error: Error) => error instanceof RangeError && !error.message.includes("secret"),
      );
    }
    assert.throws(() => rewrite({ set: { "a b": "c" } }), /^RangeError: Cannot write a header of this name/);
  });
});
