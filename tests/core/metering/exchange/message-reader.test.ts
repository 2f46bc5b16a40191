import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PendingRequest } from "../../../../core/metering/exchange/framing.ts";
import {
  createMessageReader,
  MAX_HEAD_BYTES,
  MAX_HELD_BYTES,
  type RequestReader,
} from "../../../../core/metering/exchange/message-reader.ts";
import { createReport, latin1Bytes, latin1Text, singleBytes } from "./recording.rig.ts";

function requestReader(): { reader: RequestReader; lines: string[] } {
  const report = createReport();
  const reader = createMessageReader("request", {
    started: () => report.add("started"),
    head: (_, raw) => report.add(`head ${latin1Text(raw)}`),
    body: (bytes) => report.bytes("body", bytes),
    end: (complete) => report.add(`end ${complete}`),
    opaque: (bytes) => report.bytes("opaque", bytes),
    unreadable: (reason) => report.add(`unreadable ${reason}`),
  });
  return { reader, lines: report.lines };
}

/** What a relay sees: heads and bodies as sent on the wire. */
function wireReport(pieces: readonly Uint8Array[]): string[] {
  const report = createReport();
  const reader = createMessageReader("request", {
    head: (_, raw) => report.add(`head ${latin1Text(raw)}`),
    wire: (bytes) => report.bytes("wire", bytes),
    end: (complete) => report.add(`end ${complete}`),
    unreadable: (reason) => report.add(`unreadable ${reason}`),
  });
  for (const piece of pieces) reader.push(piece);
  return report.lines;
}

function responseReport(pending: PendingRequest | null, raw: string, how: "end" | "abort"): string[] {
  const report = createReport();
  const reader = createMessageReader("response", {
    pendingRequest: () => pending,
    informational: (head) => report.add(`interim ${head.status}`),
    head: (head) => report.add(`head ${head.status}`),
    body: (bytes) => report.bytes("body", bytes),
    switched: (head) => report.add(`switched ${head.status}`),
    end: (complete) => report.add(`end ${complete}`),
    unreadable: (reason) => report.add(`unreadable ${reason}`),
  });
  reader.push(latin1Bytes(raw));
  reader[how]();
  reader.push(latin1Bytes("HTTP/1.1 200 OK\r\n\r\n")); // heard by nobody
  return report.lines;
}

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const UPGRADE = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n";

describe("createMessageReader() for a relay", () => {
  const post = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  const body = "5;ext=1\r\nhello\r\n0\r\nTrailer: kept\r\n\r\n";

  it("reports heads and bodies exactly as sent on the wire, however they are split", () => {
    const raw = `${post}${body}${GET}POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc`;
    const expected = [
      `head ${post}`,
      `wire ${body}`,
      "end true",
      `head ${GET}`,
      "end true",
      "head POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\n",
      "wire abc",
      "end true",
    ];
    assert.deepEqual(wireReport([latin1Bytes(raw)]), expected);
    assert.deepEqual(wireReport(singleBytes(latin1Bytes(raw))), expected);
  });

  it("reports the body up to the first invalid byte", () => {
    const expected = [`head ${post}`, "wire 5\r\nhello", "unreadable bad_chunk_end"];
    assert.deepEqual(wireReport([latin1Bytes(`${post}5\r\nhelloX`)]), expected);
    assert.deepEqual(wireReport(singleBytes(latin1Bytes(`${post}5\r\nhelloX`))), expected);
    assert.deepEqual(wireReport([latin1Bytes(`${post}X`)]), [`head ${post}`, "unreadable bad_chunk_size"]);
  });

  it("does not copy bodies", () => {
    const bytes = latin1Bytes("POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc");
    let seen: Uint8Array | undefined;
    createMessageReader("request", {
      head() {},
      body(piece) {
        seen = piece;
      },
      end() {},
      unreadable() {},
    }).push(bytes);
    assert.equal(seen?.buffer, bytes.buffer);
  });
});

describe("createMessageReader() for requests", () => {
  it("skips empty lines before a request, and reports its first byte", () => {
    for (const cut of [(bytes: Uint8Array) => [bytes], singleBytes]) {
      const { reader, lines } = requestReader();
      for (const piece of cut(latin1Bytes(`\r\n\r\n${GET}\r\n`))) reader.push(piece);
      assert.deepEqual(lines, ["started", `head ${GET}`, "end true"]);
    }
  });

  it("rejects an empty line that does not end with CRLF", () => {
    for (const [raw, expected] of [
      ["\rG", ["unreadable bad_request_line"]],
      ["\n\r\n", ["started", "unreadable bare_lf_in_head"]],
    ] as const) {
      const { reader, lines } = requestReader();
      for (const piece of singleBytes(latin1Bytes(raw))) reader.push(piece);
      assert.deepEqual(lines, expected);
    }
  });

  it("accepts a head of the maximum length and rejects one byte more, split or not", () => {
    const head = (bytes: number) => `GET /${"a".repeat(bytes - 18)} HTTP/1.1\r\n\r\n`;
    assert.equal(head(MAX_HEAD_BYTES).length, MAX_HEAD_BYTES);
    const halves = (bytes: Uint8Array) => [bytes.slice(0, 30_000), bytes.slice(30_000)];
    for (const cut of [(bytes: Uint8Array) => [bytes], halves, singleBytes]) {
      for (const [bytes, expected] of [
        [MAX_HEAD_BYTES, "end true"],
        [MAX_HEAD_BYTES + 1, "unreadable head_too_long"],
      ] as const) {
        const { reader, lines } = requestReader();
        for (const piece of cut(latin1Bytes(head(bytes)))) reader.push(piece);
        assert.equal(lines.at(-1)?.slice(0, 50), expected);
      }
    }
  });

  it("rejects an endless head as soon as it is too long, and reads nothing after it", () => {
    for (const size of [1000, MAX_HEAD_BYTES + 2]) {
      const { reader, lines } = requestReader();
      const endless = latin1Bytes("GET / HTTP/1.1\r\n".padEnd(size, "a"));
      for (let pushed = 0; pushed < 1_000_000; pushed += size) reader.push(endless);
      reader.push(latin1Bytes(`\r\n\r\n${GET}`));
      assert.deepEqual(lines, ["started", "unreadable head_too_long"]);
    }
  });

  it("reports a truncated body, and no body that had not started", () => {
    for (const how of ["end", "abort"] as const) {
      for (const [raw, last] of [
        ["POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc", "end false"],
        ["POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "end false"],
        ["POST / HTTP/1.1\r\nConte", "started"],
      ] as const) {
        const { reader, lines } = requestReader();
        reader.push(latin1Bytes(raw));
        reader[how]();
        assert.equal(lines.at(-1), last);
      }
    }
  });

  it("reports nothing after stop(), even if its own sink calls it", () => {
    const { reader, lines } = requestReader();
    reader.stop();
    reader.push(latin1Bytes(GET));
    reader.end();
    assert.deepEqual(lines, []);
    let ended = false;
    const own = createMessageReader("request", {
      head: () => own.stop(),
      end() {
        ended = true;
      },
      unreadable() {},
    });
    own.push(latin1Bytes(GET));
    assert.equal(ended, false);
  });
});

describe("resolveSwitch()", () => {
  it("reads what was held as the next request if the switch was declined", () => {
    const { reader, lines } = requestReader();
    reader.push(latin1Bytes(UPGRADE + GET.slice(0, 9)));
    reader.push(latin1Bytes(GET.slice(9)));
    assert.deepEqual(lines, ["started", `head ${UPGRADE}`, "end true"]);
    reader.resolveSwitch(false);
    assert.deepEqual(lines.slice(3), ["started", `head ${GET}`, "end true"]);
  });

  it("keeps held and later bytes in order, however many are held", () => {
    const { reader, lines } = requestReader();
    const cut = `GET /${"a".repeat(20_000)}`;
    reader.push(latin1Bytes(UPGRADE + GET + cut));
    reader.resolveSwitch(false);
    reader.push(latin1Bytes(" HTTP/1.1\r\n\r\n"));
    assert.equal(lines.at(-2), `head ${cut} HTTP/1.1\r\n\r\n`);
  });

  it("reports held and later bytes as opaque if the switch was accepted", () => {
    const { reader, lines } = requestReader();
    reader.push(latin1Bytes(`${UPGRADE}\x81\x05`));
    reader.resolveSwitch(true);
    reader.push(latin1Bytes("hello"));
    reader.end();
    assert.deepEqual(lines.slice(2), ["end true", "opaque \x81\x05hello"]);
  });

  it("reports held bytes and then the end if the client's FIN precedes the response", () => {
    for (const [switched, expected] of [
      [false, [`head ${GET}`, "end true", "ended"]],
      [true, [`opaque ${GET}`, "ended"]],
    ] as const) {
      const report = createReport();
      const reader = createMessageReader("request", {
        head: (_, raw) => report.add(`head ${latin1Text(raw)}`),
        end: (complete) => report.add(`end ${complete}`),
        opaque: (bytes) => report.bytes("opaque", bytes),
        ended: () => report.add("ended"),
        unreadable: (reason) => report.add(`unreadable ${reason}`),
      });
      reader.push(latin1Bytes(UPGRADE + GET));
      reader.end();
      assert.deepEqual(report.lines, [`head ${UPGRADE}`, "end true"]);
      reader.resolveSwitch(switched);
      assert.deepEqual(report.lines.slice(2), expected);
    }
  });

  it("discards held bytes if the connection is reset", () => {
    const { reader, lines } = requestReader();
    reader.push(latin1Bytes(UPGRADE + GET));
    reader.abort();
    reader.resolveSwitch(false);
    assert.deepEqual(lines, ["started", `head ${UPGRADE}`, "end true"]);
  });

  it("waits for the end of a request whose response came early", () => {
    for (const [switched, last] of [
      [true, `opaque ${GET}`],
      [false, "end true"],
    ] as const) {
      const { reader, lines } = requestReader();
      reader.push(latin1Bytes("POST / HTTP/1.1\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\na"));
      reader.resolveSwitch(switched);
      reader.push(latin1Bytes(`bc${GET}`));
      assert.deepEqual(lines.slice(2, 4), ["body abc", "end true"]);
      assert.equal(lines.at(-1), last);
    }
  });

  it("does nothing for a request that did not ask to switch", () => {
    const { reader, lines } = requestReader();
    reader.push(latin1Bytes(GET));
    reader.resolveSwitch(true);
    reader.push(latin1Bytes(GET));
    assert.equal(lines.length, 6);
  });

  it("holds no more than its limit", () => {
    const { reader, lines } = requestReader();
    reader.push(latin1Bytes(UPGRADE));
    reader.push(new Uint8Array(MAX_HELD_BYTES));
    assert.equal(lines.at(-1), "end true");
    reader.push(new Uint8Array(1));
    assert.equal(lines.at(-1), "unreadable too_much_before_switch");
    reader.resolveSwitch(true);
    assert.equal(lines.length, 4);
  });
});

describe("createMessageReader() for responses", () => {
  const rows: readonly (readonly [raw: string, how: "end" | "abort", expected: readonly string[]])[] = [
    ["HTTP/1.1 200 OK\r\n\r\nabc", "end", ["head 200", "body abc", "end true"]],
    ["HTTP/1.1 200 OK\r\n\r\nabc", "abort", ["head 200", "body abc", "end false"]],
    ["HTTP/1.1 200 OK\r\n\r\n", "end", ["head 200", "end true"]],
    ["HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", "end", ["head 200", "body abc", "end false"]],
    ["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abort", ["head 200", "body abc", "end true"]],
    ["HTTP/1.1 200 O", "end", []],
    [
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 \r\n\r\n",
      "end",
      ["interim 100", "interim 103", "head 204", "end true"],
    ],
    ["HTTP/1.1 101 Switching\r\n\r\nabc", "end", ["switched 101"]],
    ["HTTP/1.1 OK\r\n\r\n", "end", ["unreadable bad_status_line"]],
    ["HTTP/1.1 204 \r\nContent-Length: 1\r\n\r\nx", "end", ["unreadable body_where_none_may_be"]],
  ];
  for (const [raw, how, expected] of rows) {
    it(`reads ${JSON.stringify(raw)} and ${how}`, () => {
      assert.deepEqual(responseReport({ method: "GET", requestsProtocolSwitch: true }, raw, how), expected);
    });
  }

  it("rejects a response without a request", () => {
    assert.deepEqual(responseReport(null, "HTTP/1.1 408 Timeout\r\n\r\n", "end"), [
      "unreadable response_without_request",
    ]);
  });
});

describe("insertion()", () => {
  const head = "HTTP/1.1 200 OK\r\n";
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
  const rows: readonly (readonly [raw: string, expected: "chunk" | "bytes" | null])[] = [
    ["", null],
    [head, null],
    [`${head}\r\nabc`, "bytes"],
    [`${head}Content-Length: 5\r\n\r\nabc`, null],
    [chunked, "chunk"],
    [`${chunked}5`, null],
    [`${chunked}5\r\nhello`, null],
    [`${chunked}5\r\nhello\r\n`, "chunk"],
    [`${chunked}5\r\nhello\r\n1`, null],
    [`${chunked}5\r\nhello\r\n0\r\n`, null],
    [`${chunked}5\r\nhello\r\n0\r\n\r\n`, null],
  ];
  for (const [raw, expected] of rows)
    it(`is ${expected} after ${JSON.stringify(raw)}`, () => {
      for (const cut of [(bytes: Uint8Array) => [bytes], singleBytes]) {
        const reader = createMessageReader("response", {
          pendingRequest: () => ({ method: "GET", requestsProtocolSwitch: false }),
          informational() {},
          head() {},
          switched() {},
          end() {},
          unreadable() {},
        });
        for (const piece of cut(latin1Bytes(raw))) reader.push(piece);
        assert.equal(reader.insertion(), expected);
      }
    });
});
