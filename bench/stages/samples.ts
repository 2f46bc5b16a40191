// The call and the stream that the stages handle: a prompt of 850 characters, a response of 2 KB, 200 events.
const utf8 = (text: string) => new TextEncoder().encode(text);

const prompt = JSON.stringify({
  model: "claude-sonnet-4-5",
  max_tokens: 1024,
  messages: [{ role: "user", content: "Say something that a benchmark would say. ".repeat(20) }],
});

const usage =
  '"usage":{"input_tokens":412,"cache_creation_input_tokens":0,"cache_read_input_tokens":1024,"output_tokens":187}';

export const host = "api.anthropic.com";
export const requestHead = utf8(
  `POST /v1/messages HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\nx-api-key: none\r\nanthropic-version: 2023-06-01\r\nuser-agent: bench/1\r\ncontent-length: ${prompt.length}\r\n\r\n`,
);
export const requestBody = utf8(prompt);
const joined = (...parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));
export const request = joined(requestHead, requestBody);

/** Returns a response body. Each has its own ID, as responses do. */
const answer = (id: number) =>
  `{"id":"msg_01${String(id).padStart(22, "A")}","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[{"type":"text","text":"${"All work and no play makes a dull benchmark. ".repeat(40)}"}],"stop_reason":"end_turn","stop_sequence":null,${usage}}`;
const responseHead = utf8(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${answer(0).length}\r\nrequest-id: req_bench\r\nanthropic-organization-id: 00000000-0000-0000-0000-000000000000\r\nconnection: keep-alive\r\n\r\n`,
);
/** Bodies of responses with different IDs. */
export const responseBodies = Array.from({ length: 1_000 }, (_, id) => utf8(answer(id)));
export const responses = responseBodies.map((body) => joined(responseHead, body));

export const streamedEvents = 200;
const sse = (event: string, data: string) => utf8(`event: ${event}\ndata: ${data}\n\n`);
const delta = sse(
  "content_block_delta",
  '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" All work and no play"}}',
);
/** The events of a stream. */
export const events = [
  sse(
    "message_start",
    '{"type":"message_start","message":{"id":"msg_bench","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":412,"cache_creation_input_tokens":0,"cache_read_input_tokens":1024,"output_tokens":1}}}',
  ),
  ...Array.from({ length: streamedEvents - 3 }, () => delta),
  sse(
    "message_delta",
    '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":187}}',
  ),
  sse("message_stop", '{"type":"message_stop"}'),
];
const chunkHead = (bytes: Uint8Array) => utf8(`${bytes.length.toString(16)}\r\n`);
const lineEnd = utf8("\r\n");
export const streamHead = utf8(
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n",
);
/** The events in chunks as on the wire, and the last chunk. */
export const chunks = [...events.map((event) => joined(chunkHead(event), event, lineEnd)), utf8("0\r\n\r\n")];

/** A call with a body of 200 KB, as agents send them after some turns. */
const largeBody = Buffer.from(
  JSON.stringify({
    model: "claude-sonnet-4-5",
    max_tokens: 1_000,
    messages: [{ role: "user", content: "word ".repeat(40_000) }],
  }),
);
export const largeRequest = Buffer.concat([
  Buffer.from(`POST /v1/messages HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${largeBody.length}\r\n\r\n`),
  largeBody,
]);
