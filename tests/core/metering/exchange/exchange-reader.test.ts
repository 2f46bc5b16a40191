import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import {
  createExchangeReader,
  MAX_PIPELINED_REQUESTS,
} from "../../../../core/metering/exchange/exchange-reader.ts";
import {
  type ConversationStep,
  latin1Bytes,
  reportOf,
  singleBytes,
  splitAt,
  splitPlaces,
} from "./recording.rig.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HEAD = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
const UPGRADE = "GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const POST = "POST /p HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: b\r\n\r\n";
const SWITCHING = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";

const SCRIPTS: readonly (readonly [
  what: string,
  passed: readonly ConversationStep[],
  report: readonly string[],
])[] = [
  [
    "a call",
    [
      ["request", POST],
      ["response", OK],
    ],
    ["1 POST /p @0", "1 sent hello", "1 requested @0", "1 200 OK @1", "1 got ok", "1 answered @1"],
  ],
  [
    "two calls on one connection, the second answered in chunks",
    [
      ["request", GET],
      ["response", OK],
      ["request", GET],
      ["response", CHUNKED],
    ],
    [
      ...["1 GET / @0", "1 requested @0", "1 200 OK @1", "1 got ok", "1 answered @1"],
      ...["2 GET / @2", "2 requested @2", "2 200 OK @3", "2 got ok", "2 answered @3"],
    ],
  ],
  [
    "pipelined requests, a HEAD among them",
    [
      ["request", HEAD + GET + GET],
      ["response", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n"],
      ["response", OK],
    ],
    [
      ...["1 HEAD / @0", "1 requested @0", "2 GET / @0", "2 requested @0", "3 GET / @0", "3 requested @0"],
      ...["1 200 OK @1", "1 answered @1", "2 304 Not Modified @1", "2 answered @1"],
      ...["3 200 OK @2", "3 got ok", "3 answered @2"],
    ],
  ],
  [
    "Expect: 100-continue",
    [
      ["request", "PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"],
      ["response", "HTTP/1.1 100 Continue\r\n\r\n"],
      ["request", "ab"],
      ["response", OK],
    ],
    [
      ...["1 PUT / @0", "1 interim 100 @1", "1 sent ab", "1 requested @2"],
      ...["1 200 OK @3", "1 got ok", "1 answered @3"],
    ],
  ],
  [
    "an answer before the request is over, and the next call",
    [
      ["request", "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nab"],
      ["response", "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"],
      ["request", `cd${GET}`],
      ["response", OK],
    ],
    [
      ...["1 POST / @0", "1 sent ab", "1 413 Too Large @1", "1 answered @1", "1 sent cd", "1 requested @2"],
      ...["2 GET / @2", "2 requested @2", "2 200 OK @3", "2 got ok", "2 answered @3"],
    ],
  ],
  [
    "a request that is cut short, and answered all the same",
    [
      ["request", "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nab"],
      ["request"],
      ["response", "HTTP/1.0 400 Bad\r\n\r\nno"],
      ["response"],
    ],
    ["1 POST / @0", "1 sent ab", "1 400 Bad @2", "1 got no", "1 answered @3"],
  ],
  [
    "a response cut short in its length, and in its chunks",
    [["request", GET], ["response", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"], ["response"]],
    ["1 GET / @0", "1 requested @0", "1 200 OK @1", "1 got ok", "1 cut short @2"],
  ],
  [
    "chunks without the last one",
    [
      ["request", GET],
      ["response", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"],
      ["response"],
    ],
    ["1 GET / @0", "1 requested @0", "1 200 OK @1", "1 got ok", "1 cut short @2"],
  ],
  [
    "a connection that closes without an answer",
    [["request", GET], ["response", "HTTP/1.1 20"], ["response"], ["request"]],
    ["1 GET / @0", "1 requested @0"],
  ],
  [
    "heads at the time of their first byte",
    [
      ["request", "GET / HT"],
      ["request", "TP/1.1\r\n\r\n"],
      ["response", "HTTP/1.1 103 Early\r\n\r\nH"],
      ["response", "TTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"],
      ["response", "k"],
    ],
    ["1 GET / @0", "1 requested @1", "1 interim 103 @2", "1 200 OK @2", "1 got ok", "1 answered @4"],
  ],
  [
    "an upgrade, with bytes on both sides",
    [
      ["request", UPGRADE],
      ["response", `${SWITCHING}\x81\x02hi`],
      ["request", "\x81\x82"],
      ["response"],
      ["request"],
    ],
    [
      ...["1 GET /ws @0", "1 requested @0", "1 101 Switching Protocols @1", "1 upgraded @1"],
      ...["opaque response \x81\x02hi", "opaque request \x81\x82"],
    ],
  ],
  [
    "a declined upgrade, with the next request sent ahead",
    [
      ["request", UPGRADE + GET],
      ["response", OK],
      ["response", OK],
    ],
    [
      ...["1 GET /ws @0", "1 requested @0", "1 200 OK @1", "2 GET / @1", "2 requested @1", "1 got ok"],
      ...["1 answered @1", "2 200 OK @2", "2 got ok", "2 answered @2"],
    ],
  ],
  [
    "a tunnel whose client does not wait",
    [
      ["request", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n\x16\x03"],
      ["response", "HTTP/1.1 200 Established\r\n\r\n\x16"],
      ["request", "\x01"],
    ],
    [
      ...["1 CONNECT a:443 @0", "1 requested @0", "1 200 Established @1", "1 upgraded @1"],
      ...["opaque request \x16\x03", "opaque response \x16", "opaque request \x01"],
    ],
  ],
  [
    "an upgrade that nobody asked for",
    [
      ["request", GET],
      ["response", SWITCHING],
      ["request", GET],
    ],
    ["1 GET / @0", "1 requested @0", "unreadable switch_not_asked_for @1"],
  ],
  [
    "a response without a request",
    [
      ["response", OK],
      ["request", GET],
    ],
    ["unreadable response_without_request @0"],
  ],
  [
    "a response behind the last one",
    [
      ["request", GET],
      ["response", OK + OK],
    ],
    [
      ...["1 GET / @0", "1 requested @0", "1 200 OK @1", "1 got ok", "1 answered @1"],
      "unreadable response_without_request @1",
    ],
  ],
  [
    "an ambiguous request, after which nothing is reported",
    [
      ["request", "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
      ["response", OK],
      ["response"],
    ],
    ["unreadable length_and_transfer_encoding @0"],
  ],
  [
    "a held request that turns out ambiguous while its predecessor is being answered",
    [
      ["request", `${UPGRADE}GET  / HTTP/1.1\r\n\r\n`],
      ["response", OK],
    ],
    ["1 GET /ws @0", "1 requested @0", "1 200 OK @1", "unreadable bad_request_line @1"],
  ],
];

describe("createExchangeReader()", () => {
  for (const [what, passed, report] of SCRIPTS) {
    it(`reads ${what}`, () => {
      assert.deepEqual(reportOf(passed), report);
      assert.deepEqual(reportOf(passed, singleBytes), report);
    });
  }

  it("abort() leaves open messages incomplete, including a body until close", () => {
    const ends: boolean[] = [];
    const nothing = () => {};
    const reader = createExchangeReader({
      requestHead: nothing,
      requestBody: nothing,
      requestEnd: () => assert.fail("The request was cut short"),
      informational: nothing,
      responseHead: nothing,
      responseBody: nothing,
      responseEnd: (_, complete, atMs) => {
        assert.equal(atMs, 3);
        ends.push(complete);
      },
      upgraded: nothing,
      upgradedBytes: nothing,
      unreadable: nothing,
    });
    reader.push("request", latin1Bytes("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab"), 1);
    reader.push("response", latin1Bytes("HTTP/1.1 200 OK\r\n\r\nok"), 2);
    reader.abort(3);
    assert.deepEqual(ends, [false]);
  });

  it("stops at a client that sends endless requests without reading responses", () => {
    const lines = reportOf([["request", GET.repeat(MAX_PIPELINED_REQUESTS + 5)]]);
    assert.equal(lines.length, 2 * MAX_PIPELINED_REQUESTS + 1);
    assert.equal(lines.at(-1), "unreadable too_many_pipelined @0");
  });

  // Conversations of whole messages in which bytes are occasionally exchanged, dropped or doubled, so that unreadable paths
  // run as often as the readable ones.
  const requests = fc.constantFrom(
    ...[GET, HEAD, POST, UPGRADE, "\r\n", "CONNECT a:1 HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\n\n"],
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
  );
  const responses = fc.constantFrom(
    ...[OK, CHUNKED, SWITCHING, "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"],
    ...["HTTP/1.1 200 Fine\r\n\r\n", "HTTP/1.0 500 Broken\r\n\r\nuntil close", "\x81\x05hello"],
  );
  const damage = fc.record({
    at: fc.nat(200),
    drop: fc.nat({ max: 1 }),
    insert: fc.constantFrom("", "\r", "\n", "\r\n", " ", "0", ";", "\0", "\xff"),
  });
  const message = (
    direction: "request" | "response",
    text: fc.Arbitrary<string>,
  ): fc.Arbitrary<ConversationStep> =>
    fc.tuple(text, fc.option(damage, { freq: 6 })).map(([whole, harm]) => {
      if (harm === null) return [direction, whole] as const;
      const at = harm.at % whole.length;
      return [direction, whole.slice(0, at) + harm.insert + whole.slice(at + harm.drop)] as const;
    });
  const conversations = fc.array(
    fc.oneof(
      { weight: 6, arbitrary: message("request", requests) },
      { weight: 6, arbitrary: message("response", responses) },
      { weight: 1, arbitrary: fc.constantFrom<ConversationStep[]>(["request"], ["response"]) },
    ),
    { maxLength: 12, size: "max" },
  );

  it("reports the same events however the bytes are split", () => {
    // Planted: after a cut, the search for the end of a head resumed one byte too late.
    fc.assert(
      fc.property(conversations, splitPlaces, (passed, places) => {
        const whole = reportOf(passed);
        assert.deepEqual(
          reportOf(passed, (bytes) => splitAt(bytes, places)),
          whole,
        );
        assert.deepEqual(reportOf(passed, singleBytes), whole);
      }),
      { numRuns: 500 },
    );
  });

  it("reports each exchange in order, and nothing after unreadable", () => {
    // Planted: one direction was not stopped when the other became unreadable (each in turn).
    fc.assert(
      fc.property(conversations, (passed) => {
        const report = reportOf(passed);
        const end = report.findIndex((line) => line.startsWith("unreadable"));
        assert.ok(end === -1 || end === report.length - 1);
        const answered = report.filter((line) => / answered | cut short | upgraded /.test(line));
        assert.deepEqual(
          answered.map((line) => Number.parseInt(line, 10)),
          answered.map((_, index) => index + 1),
        );
      }),
      { numRuns: 300 },
    );
  });
});
