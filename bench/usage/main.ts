/**
 * `npm run bench:usage`: how fast each reader of `core/metering/usage` reads each format, in MB/s, compared with the simplest
 * meter: collect the body, split it into events and `JSON.parse` every event. Bodies have the size and shape that providers send,
 * and arrive in pieces of 16 KB as from a socket. Both run alternately; the median of the rounds counts.
 *
 * `node bench/usage/main.ts [--seconds 0.4]`: the time for each figure.
 */
import { parseArgs } from "node:util";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import { createUsageReader } from "../../core/metering/usage/usage-reader.ts";
import { eventStreamMessage } from "../../tests/conformance/sources/wire.ts";

const { values: options } = parseArgs({ options: { seconds: { type: "string", default: "0.4" } } });
const millisForEach = Number(options.seconds) * 1000;
const ROUNDS = 7;
const PIECE_BYTES = 16 * 1024;

/** A body, and how to split it into its JSON texts. */
interface Subject {
  name: string;
  route: Pick<MeteredRoute, "provider" | "api">;
  body: Uint8Array;
  split(text: string, bytes: Uint8Array): string[];
}

const PIECES_OF_A_STREAM = 400;
const words = 'Rain is wet because it is made of water, and "water" is what makes things wet. ';
const longText = words.repeat(250);
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));
const utf8 = (text: string) => new TextEncoder().encode(text);

const wholeJson = (text: string) => [text];
const dataLines = (text: string) =>
  text
    .split(/\r?\n\r?\n/)
    .flatMap((event) => /^data: ?(.*)$/m.exec(event)?.[1] ?? [])
    .filter((data) => data !== "[DONE]");
const lines = (text: string) => text.split("\n").filter((line) => line !== "");

/** Returns the payloads of an AWS event stream without verifying checksums. */
function payloads(_: string, bytes: Uint8Array): string[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const decoder = new TextDecoder();
  const found: string[] = [];
  for (let at = 0; at < bytes.length; at += view.getUint32(at)) {
    const from = at + 12 + view.getUint32(at + 4);
    found.push(decoder.decode(bytes.subarray(from, at + view.getUint32(at) - 4)));
  }
  return found;
}

const anthropicUsage = {
  input_tokens: 30,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 9,
  output_tokens: 500,
};
const openaiUsage = {
  prompt_tokens: 40,
  completion_tokens: 500,
  total_tokens: 540,
  prompt_tokens_details: { cached_tokens: 8 },
};
const responsesUsage = {
  input_tokens: 40,
  output_tokens: 500,
  total_tokens: 540,
  output_tokens_details: { reasoning_tokens: 9 },
};
const geminiUsage = { promptTokenCount: 8, candidatesTokenCount: 500, totalTokenCount: 508 };

const named = (events: readonly { type: string }[]) =>
  utf8(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
const unnamed = (events: readonly unknown[]) =>
  utf8(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`);
const chunk = (delta: object, more: object) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1795262400,
  model: "gpt-4o",
  service_tier: "default",
  system_fingerprint: "fp_1",
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
  ...more,
});
const candidate = (text: string) => ({
  candidates: [{ content: { parts: [{ text }], role: "model" }, index: 0 }],
  usageMetadata: geminiUsage,
  modelVersion: "gemini-2.5-flash",
});
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-haiku-4-5",
  content: [{ type: "text", text: longText }],
  usage: anthropicUsage,
};
const response = {
  id: "resp_1",
  object: "response",
  model: "gpt-5",
  output: [{ type: "message", content: [{ type: "output_text", text: longText }] }],
  usage: responsesUsage,
};
const vector = times(1536, (at) => Math.sin(at));

const SUBJECTS: readonly Subject[] = [
  {
    name: "Anthropic Messages, JSON",
    route: { provider: "anthropic", api: "anthropic.messages" },
    body: utf8(JSON.stringify(message)),
    split: wholeJson,
  },
  {
    name: "Anthropic Messages, SSE",
    route: { provider: "anthropic", api: "anthropic.messages" },
    body: named([
      { type: "message_start", message: { ...message, content: [] } } as { type: string },
      ...times(PIECES_OF_A_STREAM, () => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "text_delta", text: "Rain is wet" },
      })),
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: anthropicUsage } as {
        type: string;
      },
      { type: "message_stop" },
    ]),
    split: dataLines,
  },
  {
    name: "OpenAI Chat, JSON",
    route: { provider: "openai", api: "openai.chat" },
    body: utf8(
      JSON.stringify({
        id: "c",
        model: "gpt-4o",
        choices: [{ message: { content: longText } }],
        usage: openaiUsage,
      }),
    ),
    split: wholeJson,
  },
  {
    name: "OpenAI Chat, SSE",
    route: { provider: "openai", api: "openai.chat" },
    body: unnamed([
      ...times(PIECES_OF_A_STREAM, () => chunk({ content: " rain" }, { usage: null })),
      chunk({}, { choices: [], usage: openaiUsage }),
    ]),
    split: dataLines,
  },
  {
    name: "Chat, SSE, usage in every chunk",
    route: { provider: "together", api: "openai.chat" },
    body: unnamed(times(PIECES_OF_A_STREAM, () => chunk({ content: " rain" }, { usage: openaiUsage }))),
    split: dataLines,
  },
  {
    name: "OpenAI Responses, SSE",
    route: { provider: "openai", api: "openai.responses" },
    body: named([
      { type: "response.created", response: { ...response, output: [], usage: null } } as { type: string },
      ...times(PIECES_OF_A_STREAM, (at) => ({
        type: "response.output_text.delta",
        sequence_number: at,
        item_id: "msg_1",
        output_index: 0,
        content_index: 0,
        delta: " rain",
        logprobs: [],
      })),
      { type: "response.completed", response } as { type: string },
    ]),
    split: dataLines,
  },
  {
    name: "Vertex predict, JSON",
    route: { provider: "vertex", api: "vertex.predict" },
    body: utf8(
      JSON.stringify({
        predictions: times(4, () => ({
          embeddings: { values: vector, statistics: { token_count: 6, truncated: false } },
        })),
      }),
    ),
    split: wholeJson,
  },
  {
    name: "OpenAI Embeddings, JSON of 8 vectors",
    route: { provider: "openai", api: "openai.embeddings" },
    body: utf8(
      JSON.stringify({
        object: "list",
        data: times(8, (index) => ({ index, embedding: vector })),
        model: "text-embedding-3-small",
        usage: { prompt_tokens: 8, total_tokens: 8 },
      }),
    ),
    split: wholeJson,
  },
  {
    name: "Gemini, SSE",
    route: { provider: "gemini", api: "gemini.generate" },
    body: unnamed(times(PIECES_OF_A_STREAM / 4, () => candidate(words))),
    split: dataLines,
  },
  {
    name: "Gemini, JSON array",
    route: { provider: "gemini", api: "gemini.generate" },
    body: utf8(
      `[${times(PIECES_OF_A_STREAM / 4, () => JSON.stringify(candidate(words), null, 2)).join(",\r\n")}\n]`,
    ),
    split: wholeJson,
  },
  {
    name: "Ollama, NDJSON",
    route: { provider: "ollama", api: "ollama.chat" },
    body: utf8(
      [
        ...times(PIECES_OF_A_STREAM, () => ({
          model: "llama3.2",
          created_at: "2026-11-21T12:00:00.000000Z",
          message: { role: "assistant", content: " rain" },
          done: false,
        })),
        { model: "llama3.2", done: true, done_reason: "stop", prompt_eval_count: 26, eval_count: 400 },
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    ),
    split: lines,
  },
  {
    name: "Bedrock Converse, event stream",
    route: { provider: "bedrock", api: "bedrock.converse" },
    body: new Uint8Array(
      Buffer.concat([
        ...times(PIECES_OF_A_STREAM, () =>
          eventStreamMessage(
            {
              ":event-type": "contentBlockDelta",
              ":content-type": "application/json",
              ":message-type": "event",
            },
            { contentBlockIndex: 0, delta: { text: " rain" }, p: "abcdefghijklmnop" },
          ),
        ),
        eventStreamMessage(
          { ":event-type": "metadata", ":content-type": "application/json", ":message-type": "event" },
          { usage: { inputTokens: 25, outputTokens: 400, totalTokens: 425 } },
        ),
      ]),
    ),
    split: payloads,
  },
  {
    name: "Anthropic batch results, JSONL",
    route: { provider: "anthropic", api: "anthropic.batch_results" },
    body: utf8(
      times(
        50,
        (at) =>
          `${JSON.stringify({ custom_id: `c-${at}`, result: { type: "succeeded", message: { ...message, id: `msg_${at}`, content: [{ type: "text", text: words.repeat(20) }] } } })}\n`,
      ).join(""),
    ),
    split: lines,
  },
];

function cut(body: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < body.length; at += PIECE_BYTES) pieces.push(body.subarray(at, at + PIECE_BYTES));
  return pieces;
}

/** Reads with the meter's reader. Returns the output count, so that the work cannot be optimised away. */
function readWithReader({ route }: Subject, pieces: readonly Uint8Array[]): number {
  const metered: MeteredRoute = {
    kind: "metered",
    requestKind: "chat",
    model: null,
    streaming: null,
    ...route,
  };
  const reader = createUsageReader(metered, { status: 200, contentType: null, streaming: null });
  for (const piece of pieces) reader.push(piece);
  const report = reader.end(true);
  return (report.tokens.promptTokens ?? 0) + (report.results?.length ?? 0);
}

function parseEverything(subject: Subject, pieces: readonly Uint8Array[]): number {
  const bytes = Buffer.concat(pieces);
  let events = 0;
  for (const json of subject.split(bytes.toString("utf8"), bytes)) if (JSON.parse(json) !== null) events++;
  return events;
}

/** Returns MB/s, measured for about the given time. */
function measure(run: () => number, bytes: number, millis: number): number {
  const started = performance.now();
  let runs = 0;
  let elapsed = 0;
  do {
    for (let repeat = 0; repeat < 4; repeat++) if (run() === 0) throw new Error("nothing was read");
    runs += 4;
    elapsed = performance.now() - started;
  } while (elapsed < millis);
  return (runs * bytes) / 1000 / elapsed;
}

const median = (values: number[]) => values.sort((one, other) => one - other)[values.length >> 1] as number;

console.log(`node ${process.version}, ${ROUNDS} rounds of ${millisForEach / ROUNDS / 2} ms\n`);
console.log(
  `${"format".padEnd(38)}${"KB".padStart(7)}${"reader MB/s".padStart(13)}${"parse MB/s".padStart(13)}${"ratio".padStart(8)}${"µs/answer".padStart(11)}`,
);
const ratios: number[] = [];
for (const subject of SUBJECTS) {
  const pieces = cut(subject.body);
  const rates: [number[], number[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    const ours = measure(
      () => readWithReader(subject, pieces),
      subject.body.length,
      millisForEach / ROUNDS / 2,
    );
    const naive = measure(
      () => parseEverything(subject, pieces),
      subject.body.length,
      millisForEach / ROUNDS / 2,
    );
    // The first round warms up.
    if (round > 0) {
      rates[0].push(ours);
      rates[1].push(naive);
    }
  }
  const [ours, naive] = rates.map(median) as [number, number];
  ratios.push(ours / naive);
  console.log(
    `${subject.name.padEnd(38)}${(subject.body.length / 1000).toFixed(0).padStart(7)}${ours.toFixed(0).padStart(13)}${naive.toFixed(0).padStart(13)}${(ours / naive).toFixed(1).padStart(8)}${(subject.body.length / ours).toFixed(0).padStart(11)}`,
  );
}
const geometric = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
console.log(`\ngeometric mean of the ratios: ${geometric.toFixed(2)}`);
