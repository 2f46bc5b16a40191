import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  REQUEST_HEADERS,
  RESPONSE_HEADERS,
  requestFraming,
  requestsProtocolSwitch,
  responseFraming,
} from "../../../../core/metering/exchange/framing.ts";
import {
  type HeaderFilter,
  type HeaderList,
  readRequestHead,
  readResponseHead,
} from "../../../../core/metering/exchange/head.ts";
import { isUnreadable } from "../../../../core/metering/exchange/unreadable.ts";

function headersOf(lines: string): HeaderList {
  return lines === ""
    ? []
    : lines.split("\n").map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
      });
}

const CASES: readonly (readonly [what: string, headers: string, version: string, expected: unknown])[] = [
  ["a length", "Content-Length: 5", "1.1", 5],
  ["a length of zero", "content-length: 0", "1.1", 0],
  ["the same length twice", "Content-Length: 5\nContent-Length: 5", "1.1", 5],
  ["two lengths", "Content-Length: 5\nContent-Length: 6", "1.1", "differing_content_lengths"],
  [
    "one length in two spellings",
    "Content-Length: 5\nContent-Length: 05",
    "1.1",
    "differing_content_lengths",
  ],
  ["a list of lengths", "Content-Length: 5, 5", "1.1", "bad_content_length"],
  ["a sign", "Content-Length: +5", "1.1", "bad_content_length"],
  ["a minus sign", "Content-Length: -5", "1.1", "bad_content_length"],
  ["a hexadecimal length", "Content-Length: 0x5", "1.1", "bad_content_length"],
  ["no digits", "Content-Length:", "1.1", "bad_content_length"],
  ["a word behind the length", "Content-Length: 5 bytes", "1.1", "bad_content_length"],
  ["the longest length", "Content-Length: 999999999999999", "1.1", 999_999_999_999_999],
  ["a length beyond exact numbers", "Content-Length: 9999999999999999", "1.1", "bad_content_length"],
  ["chunked", "Transfer-Encoding: chunked", "1.1", "chunked"],
  ["chunked in capitals", "TRANSFER-ENCODING: CHUNKED", "1.1", "chunked"],
  ["both", "Content-Length: 5\nTransfer-Encoding: chunked", "1.1", "length_and_transfer_encoding"],
  [
    "both, the other way",
    "Transfer-Encoding: chunked\nContent-Length: 5",
    "1.1",
    "length_and_transfer_encoding",
  ],
  ["chunked in HTTP/1.0", "Transfer-Encoding: chunked", "1.0", "transfer_encoding_in_http_1_0"],
  ["identity", "Transfer-Encoding: identity", "1.1", "bad_transfer_encoding"],
  ["two codings", "Transfer-Encoding: gzip, chunked", "1.1", "bad_transfer_encoding"],
  ["chunked twice", "Transfer-Encoding: chunked\nTransfer-Encoding: chunked", "1.1", "bad_transfer_encoding"],
  ["a quoted coding", 'Transfer-Encoding: "chunked"', "1.1", "bad_transfer_encoding"],
  ["a parameter", "Transfer-Encoding: chunked;q=1", "1.1", "bad_transfer_encoding"],
  ["an almost chunked", "Transfer-Encoding: xchunked", "1.1", "bad_transfer_encoding"],
  ["an empty coding", "Transfer-Encoding:", "1.1", "bad_transfer_encoding"],
];

describe("requestFraming()", () => {
  for (const [what, lines, version, expected] of CASES) {
    it(`reads ${what}: ${expected}`, () => {
      const framing = requestFraming({
        method: "POST",
        target: "/",
        version: `HTTP/${version}`,
        headers: headersOf(lines),
      });
      const isReason = typeof expected === "string" && expected !== "chunked";
      assert.deepEqual(framing, isReason ? { unreadable: expected } : expected);
    });
  }

  it("returns no body for a request without a framing header", () => {
    assert.equal(requestFraming({ method: "POST", target: "/", version: "HTTP/1.1", headers: [] }), 0);
  });

  it("rejects a CONNECT that announces a body", () => {
    const connect = (lines: string) =>
      requestFraming({ method: "CONNECT", target: "a:1", version: "HTTP/1.1", headers: headersOf(lines) });
    assert.equal(connect(""), 0);
    assert.equal(connect("Content-Length: 0"), 0);
    assert.deepEqual(connect("Content-Length: 1"), { unreadable: "body_where_none_may_be" });
    assert.deepEqual(connect("Transfer-Encoding: chunked"), { unreadable: "body_where_none_may_be" });
  });
});

describe("responseFraming()", () => {
  const rows: readonly (readonly [method: string, status: number, headers: string, expected: unknown])[] = [
    ["POST", 200, "Content-Length: 7", 7],
    ["POST", 200, "Transfer-Encoding: chunked", "chunked"],
    ["POST", 200, "", "until_close"],
    ["HEAD", 200, "Content-Length: 7", 0],
    ["HEAD", 200, "Transfer-Encoding: chunked", 0],
    ["HEAD", 200, "", 0],
    ["GET", 304, "Content-Length: 7", 0],
    ["GET", 304, "", 0],
    ["GET", 204, "", 0],
    ["GET", 204, "Content-Length: 0", 0],
    ["GET", 204, "Content-Length: 7", "body_where_none_may_be"],
    ["GET", 204, "Transfer-Encoding: chunked", "body_where_none_may_be"],
    ["POST", 100, "", 0],
    ["POST", 103, "", 0],
    ["POST", 100, "Content-Length: 7", "body_where_none_may_be"],
    ["GET", 101, "", "switch_not_asked_for"],
    ["CONNECT", 101, "", "switched"],
    ["CONNECT", 200, "", "switched"],
    ["CONNECT", 299, "Content-Length: 0", "switched"],
    ["CONNECT", 200, "Content-Length: 7", "body_where_none_may_be"],
    ["CONNECT", 407, "Content-Length: 7", 7],
    ["GET", 200, "Content-Length: 5\nContent-Length: 6", "differing_content_lengths"],
    ["HEAD", 200, "Content-Length: 5\nTransfer-Encoding: chunked", "length_and_transfer_encoding"],
  ];
  for (const [method, status, lines, expected] of rows) {
    it(`reads ${status} to ${method} with ${JSON.stringify(lines)}: ${expected}`, () => {
      const framing = responseFraming(
        { status, reason: "", version: "HTTP/1.1", headers: headersOf(lines) },
        { method, requestsProtocolSwitch: method === "CONNECT" },
      );
      const isWord = ["chunked", "until_close", "switched"].includes(String(expected));
      assert.deepEqual(
        framing,
        typeof expected === "string" && !isWord ? { unreadable: expected } : expected,
      );
    });
  }
});

describe("requestsProtocolSwitch()", () => {
  it("is true for CONNECT and for Upgrade", () => {
    const head = (method: string, lines: string) => ({
      method,
      target: "/",
      version: "HTTP/1.1",
      headers: headersOf(lines),
    });
    assert.equal(requestsProtocolSwitch(head("CONNECT", "")), true);
    assert.equal(requestsProtocolSwitch(head("GET", "UPGRADE: websocket")), true);
    assert.equal(requestsProtocolSwitch(head("GET", "Host: a")), false);
  });
});

describe("REQUEST_HEADERS and RESPONSE_HEADERS", () => {
  const encode = (lines: readonly string[]) => new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`);
  const lines = fc.array(
    fc.constantFrom(
      ...["Content-Length: 5", "content-length: 5", "CONTENT-LENGTH: 6", "Transfer-Encoding: chunked"],
      ...["Upgrade: websocket", "Expect: 100-continue", "Content-Type: text/event-stream", "X-Request-Id: 1"],
      ...["Anthropic-Version: 1", "Content-Lengt\u00a7: 5", "Content_Length: 5", "Date: today"],
      ...["Content-Encoding: gzip", "bad header: 1", `${"x".repeat(40)}: long`, "A: b\u0001"],
    ),
    { maxLength: 5 },
  );

  it("keep what the framing of a head depends on, and every check of it", () => {
    fc.assert(
      fc.property(lines, (fields) => {
        const request = encode(["POST / HTTP/1.1", ...fields]);
        const response = encode(["HTTP/1.1 200 OK", ...fields]);
        const framings = [true, false].map((isFiltered) => {
          const asked = readRequestHead(request, isFiltered ? REQUEST_HEADERS : undefined);
          const answered = readResponseHead(response, isFiltered ? RESPONSE_HEADERS : undefined);
          if (isUnreadable(asked) || isUnreadable(answered)) return [asked, answered];
          const pending = { method: "POST", requestsProtocolSwitch: requestsProtocolSwitch(asked) };
          const kept = (headers: HeaderList, { names }: HeaderFilter) =>
            headers.filter(([name]) => isFiltered || names.includes(name.toLowerCase()));
          return [
            requestFraming(asked),
            responseFraming(answered, pending),
            kept(asked.headers, REQUEST_HEADERS),
            kept(answered.headers, RESPONSE_HEADERS),
          ];
        });
        assert.deepEqual(framings[0], framings[1]);
      }),
    );
  });
});
