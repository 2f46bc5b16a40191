import { defineApi, requestBytes } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { bytesOf, concat, json, type ReplyOptions, raw, responseBytes, sse, utf8 } from "./wire.ts";

/** HTTP's pitfalls: framing, encodings, and calls without a response. */
const spec = {
  folder: "transport",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/chat/completions",
  request: { model: "gpt-4o", messages: [{ role: "user", content: "Why is rain wet?" }] },
  source: DOCUMENTS.http,
  id: "chatcmpl-T",
};
const api = defineApi(spec);
export const transport = api.cases;

const body = (prompt: number, completion: number, id = "chatcmpl-T") => ({
  id,
  object: "chat.completion",
  model: "gpt-4o-2024-08-06",
  choices: [
    { index: 0, message: { role: "assistant", content: "Water. ".repeat(40) }, finish_reason: "stop" },
  ],
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
});
const chunks = sse([
  ...["Wa", "ter."].map((content) => ({
    id: "chatcmpl-T",
    model: "gpt-4o-2024-08-06",
    choices: [{ index: 0, delta: { content } }],
    usage: null,
  })),
  {
    id: "chatcmpl-T",
    model: "gpt-4o-2024-08-06",
    choices: [],
    usage: { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 },
  },
  "[DONE]",
]);
const answered = { model: "gpt-4o-2024-08-06", tokens: { prompt: 20, completion: 9 }, cost: RATES.gpt4o };
const plain = json(body(20, 9));
const streams = { request: { stream: true } };
const coded = { source: DOCUMENTS.contentCoding };

for (const [name, about, options] of [
  ["gzip", "gzip.", { encodings: ["gzip"] }],
  ["deflate", "deflate is a zlib stream.", { encodings: ["deflate"] }],
  ["deflate-raw", "Some servers send raw DEFLATE as deflate.", { encodings: ["deflate-raw"] }],
  ["br", "br.", { encodings: ["br"] }],
  ["zstd", "zstd.", { encodings: ["zstd"] }],
  ["gzip-then-br", "Two encodings: the one listed last was applied last.", { encodings: ["gzip", "br"] }],
  ["zstd-then-gzip", "Two encodings, the other way.", { encodings: ["zstd", "gzip"] }],
] as const satisfies readonly (readonly [string, string, ReplyOptions])[]) {
  api.add(`json-${name}`, `A JSON body: ${about}`, { ...plain, ...options }, answered, coded);
  api.add(`stream-${name}`, `A stream: ${about}`, { ...chunks, ...options }, answered, {
    ...coded,
    ...streams,
  });
}

api.add(
  "json-gzip-cut",
  "An encoded body that is cut: hardly anything of it decodes, and nothing of that is a count.",
  { ...plain, encodings: ["gzip"], cutAt: 60 },
  { model: "gpt-4o", id: null, error: ["network", true, null] },
  coded,
);
api.add(
  "json-unknown-encoding",
  "An encoding that nobody knows: a record without counts.",
  {
    ...plain,
    headers: [
      ["Content-Type", "application/json"],
      ["Content-Encoding", "lzma"],
    ],
  },
  { model: "gpt-4o", id: null },
  coded,
);
api.add(
  "json-identity-encoding",
  "identity is no encoding.",
  {
    ...plain,
    headers: [
      ["Content-Type", "application/json"],
      ["Content-Encoding", "identity"],
    ],
  },
  answered,
  coded,
);
api.add(
  "json-gzip-bomb",
  "A body of 20 KB that decodes to 20 MB of blanks before its usage costs bounded memory.",
  raw([`{"padding":"${" ".repeat(20_000_000)}",${JSON.stringify(body(20, 9)).slice(1)}`], {
    encodings: ["gzip"],
  }),
  answered,
  coded,
);
api.add("json-chunked", "A chunked JSON body.", { ...plain, framing: "chunked" }, answered);
api.add(
  "json-until-close",
  "A body without a length ends with the connection.",
  { ...plain, framing: "close" },
  answered,
);
api.add(
  "json-trailers",
  "A chunked body with trailer fields.",
  { ...plain, framing: "chunked", trailers: "Server-Timing: total;dur=123.4\r\n" },
  answered,
);
api.add(
  "json-after-continue",
  "Interim responses before the answer.",
  {
    ...plain,
    before: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </s>; rel=preload\r\n\r\n",
  },
  answered,
  { requestHeaders: [["Expect", "100-continue"]] },
);
const text = JSON.stringify(body(20, 9));
const half = 0x2a;
const extended = utf8(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nTRANSFER-ENCODING: Chunked\r\n\r\n` +
    `002A;name="a;b";x\r\n${text.slice(0, half)}\r\n${(text.length - half).toString(16).toUpperCase()} \r\n${text.slice(half)}\r\n000;last\r\n\r\n`,
);
api.addBytes(
  "json-chunk-syntax",
  "Chunk sizes in upper case and with leading zeros, chunk extensions, a blank behind a size.",
  { request: requestBytes(spec), response: extended },
  answered,
);
api.addBytes(
  "keep-alive",
  "Three calls on one connection, the second one an error: three records.",
  {
    request: concat(requestBytes(spec), requestBytes(spec), requestBytes(spec)),
    response: concat(
      responseBytes(json(body(20, 9))),
      responseBytes(
        json(
          {
            error: {
              message: "Rate limit reached",
              type: "requests",
              param: null,
              code: "rate_limit_exceeded",
            },
          },
          { status: 429 },
        ),
      ),
      responseBytes(chunks),
    ),
  },
  [answered, { status: 429, error: ["rate_limit", true, "rate_limit_exceeded"] }, answered],
);
api.addBytes(
  "pipelined-with-head",
  "A HEAD request, whose answer has a length and no body, between two calls.",
  {
    request: concat(
      requestBytes(spec),
      utf8("HEAD /v1/models HTTP/1.1\r\nHost: api.openai.com\r\n\r\n"),
      requestBytes(spec),
    ),
    response: concat(
      responseBytes(json(body(20, 9))),
      utf8("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"),
      responseBytes(json(body(20, 9))),
    ),
  },
  [answered, answered],
);
api.addBytes(
  "no-answer",
  "The provider closes the connection without an answer.",
  { request: requestBytes(spec), response: utf8("") },
  { status: null, error: ["network", true, null] },
);
api.addBytes(
  "upstream-timeout",
  "No answer in time.",
  { request: requestBytes(spec), response: utf8("") },
  { status: null, error: ["timeout", true, null] },
  { ended: "upstream_timeout" },
);
api.add(
  "json-length-cut",
  "Fewer bytes than the length says.",
  { ...plain, cutAt: bytesOf(plain, 1) - 60 },
  { model: "gpt-4o-2024-08-06", id: "chatcmpl-T", error: ["network", true, null] },
);
api.add(
  "wrong-content-type",
  "A stream that is called JSON, and a JSON body that is called a stream, say themselves what they are.",
  { ...chunks, headers: [["Content-Type", "application/json"]] },
  answered,
  streams,
);
api.add(
  "json-called-stream",
  "A JSON answer to a request that asked for a stream.",
  { ...plain, headers: [["Content-Type", "text/event-stream"]] },
  answered,
  streams,
);
api.add(
  "unknown-path",
  "A path that nobody knows on a provider's host is counted, never guessed.",
  plain,
  null,
  { path: "/v1/some/new/endpoint" },
);
