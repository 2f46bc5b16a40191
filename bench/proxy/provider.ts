// The benchmark's provider: a plain TLS server that sends prepared bytes, so that its own cost is small. Paths:
// /v1/messages responds with JSON; with `?stream=N`, with N server-sent events; with `?hold`, with one event and then
// nothing.
import { readFileSync } from "node:fs";
import process from "node:process";
import { createServer, type TLSSocket } from "node:tls";

const [certFile, keyFile] = process.argv.slice(2) as [string, string];

const usage =
  '"usage":{"input_tokens":412,"cache_creation_input_tokens":0,"cache_read_input_tokens":1024,"output_tokens":187}';
const json = `{"id":"msg_bench","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[{"type":"text","text":"${"All work and no play makes a dull benchmark. ".repeat(40)}"}],"stop_reason":"end_turn","stop_sequence":null,${usage}}`;
const jsonAnswer = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\nrequest-id: req_bench\r\nanthropic-organization-id: 00000000-0000-0000-0000-000000000000\r\nconnection: keep-alive\r\n\r\n${json}`,
);

function chunk(event: string, data: string): string {
  const text = `event: ${event}\ndata: ${data}\n\n`;
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}
const streamHead =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\ncache-control: no-cache\r\n\r\n";
const streamStart = chunk(
  "message_start",
  `{"type":"message_start","message":{"id":"msg_bench","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":412,"cache_creation_input_tokens":0,"cache_read_input_tokens":1024,"output_tokens":1}}}`,
);
const streamDelta = chunk(
  "content_block_delta",
  '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" All work and no play"}}',
);
const streamEnd = `${chunk("message_delta", '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":187}}')}${chunk("message_stop", '{"type":"message_stop"}')}0\r\n\r\n`;
const streamDeltaBytes = Buffer.from(streamDelta);

function answer(socket: TLSSocket, target: string): void {
  const query = new URLSearchParams(target.split("?")[1] ?? "");
  if (query.has("hold")) {
    socket.write(streamHead + streamStart);
    return;
  }
  const events = Number(query.get("stream") ?? 0);
  if (events === 0) {
    socket.write(jsonAnswer);
    return;
  }
  socket.write(streamHead + streamStart);
  let sent = 1;
  // One write per event and turn, as a provider sends tokens.
  const next = () => {
    if (socket.destroyed) return;
    if (sent >= events - 2) return void socket.write(streamEnd);
    sent += 1;
    socket.write(streamDeltaBytes);
    setImmediate(next);
  };
  setImmediate(next);
}

const server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (socket) => {
  socket.setNoDelay(true);
  socket.on("error", () => {});
  let head = "";
  let target = "";
  let bodyLeft = 0;
  socket.on("data", (bytes: Buffer) => {
    let at = 0;
    while (at < bytes.length) {
      if (bodyLeft > 0) {
        const taken = Math.min(bodyLeft, bytes.length - at);
        bodyLeft -= taken;
        at += taken;
        if (bodyLeft === 0) answer(socket, target);
        continue;
      }
      head += bytes.toString("latin1", at);
      const end = head.indexOf("\r\n\r\n");
      if (end === -1) return;
      const used = end + 4 - (head.length - (bytes.length - at));
      at += used;
      const lines = head.slice(0, end);
      head = "";
      target = lines.split(" ", 2)[1] as string;
      bodyLeft = Number(/content-length: (\d+)/i.exec(lines)?.[1] ?? 0);
      if (bodyLeft === 0) answer(socket, target);
    }
  });
});
server.listen(0, "127.0.0.1", () => {
  process.send?.({ port: (server.address() as { port: number }).port });
});
