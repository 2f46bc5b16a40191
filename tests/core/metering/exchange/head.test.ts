import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  findHeadEnd,
  headerValue,
  pathOf,
  readRequestHead,
  readResponseHead,
} from "../../../../core/metering/exchange/head.ts";
import { isUnreadable } from "../../../../core/metering/exchange/unreadable.ts";
import { latin1Bytes } from "./recording.rig.ts";

describe("readRequestHead()", () => {
  it("keeps the order, the case and the repetition of headers, and trims blanks around values", () => {
    assert.deepEqual(
      readRequestHead(
        latin1Bytes(
          "POST /v1?a=b HTTP/1.1\r\nHost:api.test\r\nX-A: \t one two\t \r\nx-a:\r\nB: \xe9\r\n\r\n",
        ),
      ),
      {
        method: "POST",
        target: "/v1?a=b",
        version: "HTTP/1.1",
        headers: [
          ["Host", "api.test"],
          ["X-A", "one two"],
          ["x-a", ""],
          ["B", "é"],
        ],
      },
    );
  });

  it("accepts exactly the token characters of RFC 9110 in names", () => {
    for (let code = 0; code < 256; code++) {
      const character = String.fromCharCode(code);
      const head = readRequestHead(latin1Bytes(`GET / HTTP/1.1\r\nA${character}B: x\r\n\r\n`));
      const isToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]$/.test(character);
      assert.equal(!isUnreadable(head), isToken || character === ":", `byte ${code}`);
    }
  });

  it("accepts only visible characters, blanks and non-ASCII bytes in values", () => {
    for (let code = 0; code < 256; code++) {
      const head = readRequestHead(
        latin1Bytes(`GET / HTTP/1.1\r\nA: x${String.fromCharCode(code)}y\r\n\r\n`),
      );
      const isText = code === 9 || (code >= 32 && code !== 127);
      assert.equal(!isUnreadable(head), isText, `byte ${code}`);
    }
  });

  const refused: readonly (readonly [raw: string, reason: string])[] = [
    ["GET /\r\n\r\n", "bad_request_line"],
    ["GET  / HTTP/1.1\r\n\r\n", "bad_request_line"],
    ["GET /a b HTTP/1.1\r\n\r\n", "bad_http_version"],
    ["GET / HTTP/1.1 \r\n\r\n", "bad_http_version"],
    ["GET / http/1.1\r\n\r\n", "bad_http_version"],
    ["GET / HTTP/0.9\r\n\r\n", "bad_http_version"],
    ["PRI * HTTP/2.0\r\n\r\n", "bad_http_version"],
    [" GET / HTTP/1.1\r\n\r\n", "bad_request_line"],
    ["G(T / HTTP/1.1\r\n\r\n", "bad_request_line"],
    ["GET\t/ HTTP/1.1\r\n\r\n", "bad_request_line"],
    ["GET /\x7f HTTP/1.1\r\n\r\n", "control_byte_in_head"],
    ["GET /\0 HTTP/1.1\r\n\r\n", "control_byte_in_head"],
    ["GET / HTTP/1.1\n\n", "bare_lf_in_head"],
    ["GET / HTTP/1.1\rA: b\r\n\r\n", "bare_cr_in_head"],
    ["GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", "bare_lf_in_head"],
    ["GET / HTTP/1.1\r\nA: b\n\r\n", "bare_lf_in_head"],
    ["GET / HTTP/1.1\r\n\n", "bare_lf_in_head"],
    ["GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n", "bare_cr_in_head"],
    ["GET / HTTP/1.1\r\nA: b\r\r\n\r\n", "bare_cr_in_head"],
    ["GET / HTTP/1.1\r\n\rA: b\r\n\r\n", "bare_cr_in_head"],
    ["GET / HTTP/1.1\r\nA: b\0\r\n\r\n", "control_byte_in_head"],
    ["GET / HTTP/1.1\r\nTransfer-Encoding:\x0bchunked\r\n\r\n", "control_byte_in_head"],
    ["GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "folded_header"],
    ["GET / HTTP/1.1\r\n\tA: b\r\n\r\n", "folded_header"],
    ["GET / HTTP/1.1\r\nContent-Length : 5\r\n\r\n", "bad_header_name"],
    ["GET / HTTP/1.1\r\nContent Length: 5\r\n\r\n", "bad_header_name"],
    ["GET / HTTP/1.1\r\n: 5\r\n\r\n", "bad_header_name"],
    ["GET / HTTP/1.1\r\nnonsense\r\n\r\n", "bad_header_name"],
    ["GET / HTTP/1.1\r\nA\xe9: 5\r\n\r\n", "bad_header_name"],
    ["GET / HTTP/1.1\r\nA: b", "control_byte_in_head"],
  ];
  for (const [raw, reason] of refused) {
    it(`refuses ${JSON.stringify(raw)} as ${reason}`, () => {
      assert.deepEqual(readRequestHead(latin1Bytes(raw)), { unreadable: reason });
    });
  }
});

describe("readResponseHead()", () => {
  const read: readonly (readonly [line: string, status: number, reason: string, version: string])[] = [
    ["HTTP/1.1 200 OK", 200, "OK", "HTTP/1.1"],
    ["HTTP/1.0 404 Not Found", 404, "Not Found", "HTTP/1.0"],
    ["HTTP/1.1 529 ", 529, "", "HTTP/1.1"],
    ["HTTP/1.1 200", 200, "", "HTTP/1.1"],
    ["HTTP/1.1 500 Schei\xdfe", 500, "Scheiße", "HTTP/1.1"],
  ];
  for (const [line, status, reason, version] of read) {
    it(`reads ${JSON.stringify(line)}`, () => {
      assert.deepEqual(readResponseHead(latin1Bytes(`${line}\r\nA: b\r\n\r\n`)), {
        status,
        reason,
        version,
        headers: [["A", "b"]],
      });
    });
  }

  const refused: readonly (readonly [raw: string, reason: string])[] = [
    ["HTTP/1.1 20 OK\r\n\r\n", "bad_status_line"],
    ["HTTP/1.1 2000 OK\r\n\r\n", "bad_status_line"],
    ["HTTP/1.1 099 OK\r\n\r\n", "bad_status_line"],
    ["HTTP/1.1  200 OK\r\n\r\n", "bad_status_line"],
    ["HTTP/2 200 OK\r\n\r\n", "bad_status_line"],
    ["ICY 200 OK\r\n\r\n", "bad_status_line"],
    ["\r\nHTTP/1.1 200 OK\r\n\r\n", "bad_status_line"],
    ["HTTP/1.2 200 OK\r\n\r\n", "bad_http_version"],
    ["HTTP/1.1 200 OK\n\n", "bare_lf_in_head"],
    ["HTTP/1.1 200 O\0K\r\n\r\n", "control_byte_in_head"],
    ["HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "bad_header_name"],
  ];
  for (const [raw, reason] of refused) {
    it(`refuses ${JSON.stringify(raw)} as ${reason}`, () => {
      assert.deepEqual(readResponseHead(latin1Bytes(raw)), { unreadable: reason });
    });
  }
});

describe("findHeadEnd()", () => {
  const ends = ["\r\n\r\n", "\n\n", "\n\r\n", "\r\n\n"];
  for (const end of ends) {
    it(`finds the end ${JSON.stringify(end)} at odd and even places, wherever an earlier search stopped`, () => {
      for (const before of ["A", "AB", "A\r\nB", "A\nBC", "A\rB\tC"]) {
        const bytes = latin1Bytes(`${before}${end}HTTP\r\n\r\n`);
        const expected = before.length + end.length;
        assert.equal(findHeadEnd(bytes, 0, 0), expected);
        for (let seen = 1; seen < expected; seen++) {
          const sofar = bytes.subarray(0, seen);
          assert.equal(findHeadEnd(sofar, 0, 0), -1, `${seen} bytes of ${JSON.stringify(before + end)}`);
          assert.equal(findHeadEnd(bytes, 0, seen - 1), expected, `from ${seen - 1}`);
        }
      }
    });
  }

  it("does not treat a preceding line end as part of the end", () => {
    assert.equal(findHeadEnd(latin1Bytes("A\n\r\nB\r\n\r\n"), 2, 2), 9);
    assert.equal(findHeadEnd(latin1Bytes("A\n\nB\r\n\r\n"), 2, 2), 8);
  });
});

describe("headerValue()", () => {
  it("returns the first header of a name in any case, or null", () => {
    const headers = [
      ["X-One", "1"],
      ["CONTENT-TYPE", "a"],
      ["content-type", "b"],
    ] as const;
    assert.equal(headerValue(headers, "content-type"), "a");
    assert.equal(headerValue(headers, "x-two"), null);
  });
});

describe("pathOf()", () => {
  const targets = [
    ["/v1/messages", "/v1/messages"],
    ["/v1/messages?beta=true", "/v1/messages"],
    ["/a?to=https://b.test/c", "/a"],
    ["https://api.test/v1/messages?beta=true", "/v1/messages"],
    ["HTTP://api.test:8080/v1", "/v1"],
    ["https://api.test", "/"],
    ["https://api.test?a=/b", "/"],
    ["*", "*"],
  ] as const;
  for (const [target, path] of targets) {
    it(`returns ${path} for ${target}`, () => assert.equal(pathOf(target), path));
  }
});
