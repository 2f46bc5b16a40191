import { Buffer } from "node:buffer";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { canary } from "./canary-search.ts";

/** A request that plants a secret and some prompt text, and what the provider answers to it. */
export interface Shape {
  readonly name: string;
  readonly host: string;
  /** The request, in the pieces in which it is written. */
  readonly request: readonly Buffer[];
  /** The answer, likewise; behind it the provider closes the connection. */
  readonly reply: readonly Buffer[];
  /** Whether its text is in a body that is stored where both gates are on. */
  readonly isStored: boolean;
  /** Why redaction does not find its secret. Source: `core/redaction`, "What it can't find". */
  readonly unredacted: string | null;
}

interface Planted {
  readonly secret: string;
  readonly text: string;
}

interface Draft {
  readonly host?: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly string[];
  readonly type?: string;
  readonly body?: string | Buffer;
  /** Bytes in each write; the body is then in chunks of as many. */
  readonly piece?: number;
  readonly trailer?: string;
  readonly reply?: readonly Buffer[];
  readonly isStored?: boolean;
  readonly unredacted?: string;
}

const CRLF = "\r\n";
const TAIL = "A1b2C3d4E5f6G7h8J9k0";

/** A key of Anthropic's form around a canary; the others likewise. */
const keys = {
  anthropic: (secret: string) => `sk-ant-api03-${secret}${TAIL}`,
  openai: (secret: string) => `sk-proj-${secret}${TAIL}`,
  google: (secret: string) => `AIza${`${secret}${TAIL}${TAIL}`.slice(0, 35)}`,
  github: (secret: string) => `ghp_${`${secret}${TAIL}${TAIL}`.slice(0, 36)}`,
  aws: (secret: string) => `AKIA${`${secret.toUpperCase()}234567`.slice(0, 16)}`,
  slack: (secret: string) => `xoxb-1234567890-${secret}${TAIL}`,
  bearer: (secret: string) => `Bearer ${secret}${TAIL}`,
  jwt: (secret: string) =>
    `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(JSON.stringify({ sub: secret })).toString("base64url")}.${secret}${TAIL}`,
  pem: (secret: string) =>
    `-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG${secret}${TAIL}${TAIL}\n${secret}${TAIL}${TAIL}\n-----END PRIVATE KEY-----`,
  url: (secret: string) => `postgres://app:${secret}9@db.example.com/main`,
  email: (secret: string) => `${secret}@example.com`,
  env: (secret: string) => `AZURE_API_KEY=${secret}${TAIL}`,
};

/** Every letter as a JSON escape. */
const escaped = (text: string) =>
  [...text].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

const ask = (content: unknown, more: object = {}) =>
  JSON.stringify({
    model: "claude-sonnet-4-5",
    max_tokens: 64,
    messages: [{ role: "user", content }],
    ...more,
  });

function answer(
  status: number,
  body: string | Buffer,
  type = "application/json",
  headers: readonly string[] = [],
): Buffer[] {
  const lines = [`HTTP/1.1 ${status} Status`, `Content-Type: ${type}`, "Connection: close", ...headers];
  const bytes = Buffer.from(body);
  return [
    Buffer.concat([Buffer.from([...lines, `Content-Length: ${bytes.length}`, "", ""].join(CRLF)), bytes]),
  ];
}

const message = (content: unknown) =>
  JSON.stringify({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5-20250929",
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
    usage: { input_tokens: 5, output_tokens: 7 },
  });

/** An answer in events, each in a chunk and a write of its own. */
function stream(events: readonly object[]): Buffer[] {
  const head = `HTTP/1.1 200 OK${CRLF}Content-Type: text/event-stream${CRLF}Transfer-Encoding: chunked${CRLF}${CRLF}`;
  const start = {
    id: "msg_1",
    model: "claude-sonnet-4-5-20250929",
    usage: { input_tokens: 5, output_tokens: 1 },
  };
  const all = [
    { type: "message_start", message: start },
    ...events,
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 7 } },
    { type: "message_stop" },
  ];
  const chunks = all.map((event) => {
    const data = `event: ${"type" in event ? event.type : "error"}\ndata: ${JSON.stringify(event)}\n\n`;
    return `${Buffer.byteLength(data).toString(16)}${CRLF}${data}${CRLF}`;
  });
  return [head, ...chunks, `0${CRLF}${CRLF}`].map((text) => Buffer.from(text));
}

const deltas = (kind: string, parts: readonly string[]) =>
  parts.map((part) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: `${kind}_delta`, [kind]: part },
  }));

/** In the middle, so that no part holds the whole. */
const halves = (text: string) => {
  const middle = Math.floor(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
};

const inPieces = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size));

const openai = { host: "api.openai.com", path: "/v1/chat/completions" };
const chat = (content: string) => JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content }] });
const gemini = {
  host: "generativelanguage.googleapis.com",
  path: "/v1beta/models/gemini-2.5-pro:generateContent",
};

const drafts: readonly (readonly [name: string, draft: (planted: Planted) => Draft])[] = [
  // The heads of requests.
  ["a key in x-api-key", ({ secret }) => ({ headers: [`x-api-key: ${keys.anthropic(secret)}`] })],
  [
    "a bearer token",
    ({ secret }) => ({ ...openai, body: chat("Hi"), headers: [`Authorization: ${keys.bearer(secret)}`] }),
  ],
  [
    "a key in x-goog-api-key",
    ({ secret }) => ({ ...gemini, body: "{}", headers: [`X-Goog-Api-Key: ${keys.google(secret)}`] }),
  ],
  [
    "basic credentials",
    ({ secret }) => ({
      headers: [`Authorization: Basic ${Buffer.from(`ann:${secret}`).toString("base64")}`],
    }),
  ],
  ["a cookie", ({ secret, text }) => ({ headers: [`Cookie: session=${secret}; note=${text}`] })],
  ["a user agent", ({ secret, text }) => ({ headers: [`User-Agent: ${text}/1.0 (${keys.openai(secret)})`] })],
  ["a header of nobody's", ({ text }) => ({ headers: [`X-Prompt: ${text}`, `X-Prompt: and ${text}`] })],
  [
    "a referrer",
    ({ secret }) => ({ headers: [`Referer: https://ann:${secret}@intranet.example/?q=${secret}`] }),
  ],
  ["a trailer behind the chunks", ({ text }) => ({ body: ask("Hi"), piece: 20, trailer: `X-Note: ${text}` })],
  [
    "a key in the query",
    ({ secret }) => ({ ...gemini, body: "{}", path: `${gemini.path}?key=${keys.google(secret)}` }),
  ],
  ["a prompt in the query", ({ text }) => ({ path: `/v1/messages?note=${text}` })],
  [
    "an escaped query",
    ({ secret }) => ({
      path: `/v1/messages?k=${[...secret].map((c) => `%${c.charCodeAt(0).toString(16)}`).join("")}`,
    }),
  ],
  [
    "a name in the path of a file",
    ({ secret, text }) => ({ method: "GET", body: "", path: `/v1/files/${secret}/${text}` }),
  ],
  [
    "a name in the path of a batch",
    ({ text }) => ({ method: "GET", body: "", path: `/v1/messages/batches/${text}/results` }),
  ],
  ["a parameter behind the path", ({ secret }) => ({ path: `/v1/messages;key=${secret}` })],
  // The bodies of requests.
  [
    "a key in the prompt",
    ({ secret, text }) => ({ body: ask(`${text} ${keys.anthropic(secret)}`), isStored: true }),
  ],
  [
    "a key in the system prompt",
    ({ secret, text }) => ({
      body: ask("Hi", { system: `${text}: ${keys.openai(secret)}` }),
      isStored: true,
    }),
  ],
  [
    "a key in the metadata of a call",
    ({ secret, text }) => ({
      body: ask(text, { metadata: { user_id: keys.anthropic(secret) } }),
      isStored: true,
    }),
  ],
  [
    "arguments of a tool",
    ({ secret, text }) => ({
      body: ask([{ type: "tool_use", id: "t", name: "f", input: { note: text, key: keys.google(secret) } }]),
      isStored: true,
    }),
  ],
  [
    "the result of a tool",
    ({ secret, text }) => ({
      body: ask([{ type: "tool_result", tool_use_id: "t", content: `${text}\n${keys.github(secret)}` }]),
      isStored: true,
    }),
  ],
  [
    "letters as JSON escapes",
    ({ secret, text }) => ({
      body: ask("@").replace("@", escaped(`${text} ${keys.anthropic(secret)}`)),
      isStored: true,
    }),
  ],
  [
    "between letters of several bytes",
    ({ secret, text }) => ({
      body: ask(`Zürich 🧮${text}日本 ${keys.anthropic(secret)}日本🧮`),
      isStored: true,
    }),
  ],
  [
    "a file in base64",
    ({ secret, text }) => ({
      body: ask([
        {
          type: "document",
          source: {
            type: "base64",
            data: Buffer.from(`${text} ${keys.anthropic(secret)}`).toString("base64"),
          },
        },
      ]),
      isStored: false,
      unredacted: "base64",
    }),
  ],
  [
    "a picture's address with its bytes",
    ({ secret }) => ({
      ...openai,
      body: JSON.stringify({
        model: "gpt-5",
        messages: [
          {
            role: "user",
            content: [
              {
                type: "image_url",
                image_url: {
                  url: `data:text/plain;base64,${Buffer.from(keys.openai(secret)).toString("base64")}`,
                },
              },
            ],
          },
        ],
      }),
      unredacted: "base64",
    }),
  ],
  [
    "a key in an address",
    ({ secret, text }) => ({
      body: ask(`curl 'https://x.example/?q=${text}&api_key=${secret}${TAIL}'`),
      isStored: true,
    }),
  ],
  [
    "a compressed request",
    ({ secret, text }) => ({
      body: gzipSync(ask(`${text} ${keys.anthropic(secret)}`)),
      headers: ["Content-Encoding: gzip"],
      isStored: true,
    }),
  ],
  [
    "chunks that cut the key",
    ({ secret, text }) => ({ body: ask(`${text} ${keys.anthropic(secret)}`), piece: 17, isStored: true }),
  ],
  [
    "one byte at a time",
    ({ secret, text }) => ({ body: ask(`${text} ${keys.openai(secret)}`), piece: 1, isStored: true }),
  ],
  [
    "a body that is no JSON",
    ({ secret, text }) => ({
      body: `{"model":"claude-sonnet-4-5","messages":[${text} ${keys.anthropic(secret)}`,
      isStored: true,
    }),
  ],
  [
    "a form with a file",
    ({ secret, text }) => ({
      host: "api.openai.com",
      path: "/v1/audio/transcriptions",
      type: "multipart/form-data; boundary=bound",
      body: [
        "--bound",
        'Content-Disposition: form-data; name="model"',
        "",
        "whisper-1",
        "--bound",
        `Content-Disposition: form-data; name="prompt"; filename="${text}.txt"`,
        "",
        `${text} ${keys.openai(secret)}`,
        "--bound--",
        "",
      ].join(CRLF),
      isStored: true,
    }),
  ],
  [
    "a body of plain text",
    ({ secret, text }) => ({ type: "text/plain", body: `${text} ${keys.github(secret)}`, isStored: true }),
  ],
  [
    "a body in UTF-16",
    ({ secret, text }) => ({
      type: "application/json; charset=utf-16",
      body: Buffer.from(`\ufeff${ask(`${text} ${secret}`)}`, "utf16le"),
    }),
  ],
  ["a private key", ({ secret, text }) => ({ body: ask(`${text}\n${keys.pem(secret)}\n`), isStored: true })],
  ["a web token", ({ secret, text }) => ({ body: ask(`${text} ${keys.jwt(secret)} `), isStored: true })],
  [
    "a connection string",
    ({ secret, text }) => ({ body: ask(`${text} ${keys.url(secret)}`), isStored: true }),
  ],
  [
    "an e-mail address",
    ({ secret, text }) => ({ body: ask(`${text} ${keys.email(secret)}`), isStored: true }),
  ],
  ["a key of AWS", ({ secret, text }) => ({ body: ask(`${text} ${keys.aws(secret)}`), isStored: true })],
  ["a key of Slack", ({ secret, text }) => ({ body: ask(`${text} ${keys.slack(secret)}`), isStored: true })],
  [
    "an environment file",
    ({ secret, text }) => ({ body: ask(`# ${text}\n${keys.env(secret)}\n`), isStored: true }),
  ],
  [
    "the name of a member",
    ({ secret, text }) => ({ body: ask("Hi", { [text]: 1, [keys.anthropic(secret)]: 2 }), isStored: true }),
  ],
  [
    "the input of an embedding",
    ({ secret, text }) => ({
      host: "api.openai.com",
      path: "/v1/embeddings",
      body: JSON.stringify({ model: "text-embedding-3-small", input: `${text} ${keys.openai(secret)}` }),
      isStored: true,
    }),
  ],
  [
    "instructions of Responses",
    ({ secret, text }) => ({
      host: "api.openai.com",
      path: "/v1/responses",
      body: JSON.stringify({
        model: "gpt-5",
        instructions: text,
        input: [{ role: "user", content: keys.openai(secret) }],
      }),
      isStored: true,
    }),
  ],
  [
    "contents of Gemini",
    ({ secret, text }) => ({
      ...gemini,
      body: JSON.stringify({ contents: [{ parts: [{ text: `${text} ${keys.google(secret)}` }] }] }),
      isStored: true,
    }),
  ],
  // Answers.
  [
    "a key in the answer",
    ({ secret, text }) => ({
      reply: answer(200, message(`${text} ${keys.anthropic(secret)}`)),
      isStored: true,
    }),
  ],
  [
    "thoughts",
    ({ secret, text }) => ({
      reply: answer(200, message([{ type: "thinking", thinking: `${text} ${keys.github(secret)}` }])),
      isStored: true,
    }),
  ],
  [
    "an answer cut in the middle of the key",
    ({ secret, text }) => ({
      reply: inPieces(answer(200, message(`${text} ${keys.anthropic(secret)}`))[0] as Buffer, 11),
      isStored: true,
    }),
  ],
  [
    "a key over two events",
    ({ secret, text }) => ({
      body: ask("Hi", { stream: true }),
      reply: stream(deltas("text", [`${text} `, ...halves(keys.anthropic(secret))])),
      isStored: true,
    }),
  ],
  [
    "a key over one event for each letter",
    ({ secret, text }) => ({
      body: ask("Hi", { stream: true }),
      reply: stream(deltas("text", [`${text} `, ...keys.anthropic(secret)])),
      isStored: true,
    }),
  ],
  [
    "arguments of a tool over two events",
    ({ secret, text }) => ({
      body: ask("Hi", { stream: true }),
      reply: stream(
        deltas("partial_json", [`{"note":"${text}","key":"`, ...halves(keys.google(secret)), '"}']),
      ),
      isStored: true,
    }),
  ],
  [
    "a stream that ends too early",
    ({ secret, text }) => ({
      body: ask("Hi", { stream: true }),
      reply: stream(deltas("text", [`${text} `, ...halves(keys.openai(secret)), "."])).slice(0, -4),
      isStored: true,
    }),
  ],
  [
    "an answer in gzip",
    ({ secret, text }) => ({
      reply: answer(200, gzipSync(message(`${text} ${keys.anthropic(secret)}`)), "application/json", [
        "Content-Encoding: gzip",
      ]),
      isStored: true,
    }),
  ],
  [
    "an answer in brotli",
    ({ secret, text }) => ({
      reply: answer(200, brotliCompressSync(message(`${text} ${keys.github(secret)}`)), "application/json", [
        "Content-Encoding: br",
      ]),
      isStored: true,
    }),
  ],
  [
    "an answer that does not decode",
    ({ secret, text }) => ({
      reply: answer(200, message(`${text} ${keys.anthropic(secret)}`), "application/json", [
        "Content-Encoding: gzip",
      ]),
    }),
  ],
  [
    "an error that repeats the key",
    ({ secret, text }) => ({
      ...openai,
      body: chat("Hi"),
      reply: answer(
        401,
        JSON.stringify({
          error: {
            message: `Incorrect API key provided: ${keys.openai(secret)}. ${text}`,
            type: "invalid_request_error",
            code: "invalid_api_key",
          },
        }),
      ),
      isStored: true,
    }),
  ],
  [
    "an error that repeats the prompt",
    ({ secret, text }) => ({
      reply: answer(
        400,
        JSON.stringify({
          type: "error",
          error: { type: "invalid_request_error", message: `messages.0: ${text} ${keys.anthropic(secret)}` },
        }),
      ),
      isStored: true,
    }),
  ],
  [
    "an error whose code is a sentence",
    ({ secret, text }) => ({
      ...openai,
      body: chat("Hi"),
      reply: answer(
        400,
        JSON.stringify({
          error: { message: "No.", type: `about ${text}`, code: `the key ${keys.openai(secret)} is wrong` },
        }),
      ),
      isStored: true,
    }),
  ],
  [
    "a key for a model",
    ({ secret, text }) => ({
      ...openai,
      body: chat(text).replace("gpt-5", keys.openai(secret)),
      reply: answer(
        404,
        JSON.stringify({ error: { message: `no model ${keys.openai(secret)}`, code: "model_not_found" } }),
      ),
      isStored: true,
    }),
  ],
  [
    "a key for a model in the path",
    ({ secret, text }) => ({
      ...gemini,
      path: `/v1beta/models/${keys.google(secret)}:generateContent`,
      body: JSON.stringify({ contents: [{ parts: [{ text }] }] }),
      isStored: true,
    }),
  ],
  [
    "a tier that is a sentence",
    ({ secret, text }) => ({
      body: ask("Hi", { service_tier: `${text} ${secret}` }),
      reply: answer(
        200,
        message("Hi").replace('"usage":{', `"usage":{"service_tier":"${text} and more","${text}":3,`),
      ),
      isStored: true,
      unredacted: "no shape",
    }),
  ],
  [
    "the identity of an answer",
    ({ secret, text }) => ({
      reply: answer(200, message(text).replace("msg_1", `msg_1${keys.anthropic(secret)}`)),
      isStored: true,
    }),
  ],
  [
    "an error in a stream",
    ({ secret, text }) => ({
      body: ask("Hi", { stream: true }),
      reply: stream([
        { type: "error", error: { type: "overloaded_error", message: `${text} ${keys.anthropic(secret)}` } },
      ]),
      isStored: true,
    }),
  ],
  [
    "an error page",
    ({ secret, text }) => ({
      reply: answer(502, `<html>${text} ${keys.anthropic(secret)}</html>`, "text/html"),
      isStored: true,
    }),
  ],
  [
    "an answer that is nonsense",
    ({ secret, text }) => ({
      reply: answer(200, `{"usage": {"${text}": "${keys.anthropic(secret)}`),
      isStored: true,
    }),
  ],
  [
    "headers of the answer",
    ({ secret, text }) => ({
      reply: answer(200, message("Hi"), "application/json", [
        `Set-Cookie: id=${secret}`,
        `X-Request-Id: ${text}`,
        `Request-Id: ${secret}`,
        `Location: https://x.example/${text}`,
      ]),
    }),
  ],
  [
    "the type of the answer",
    ({ secret, text }) => ({
      reply: answer(200, message("Hi"), `application/json; note=${text}; key=${keys.openai(secret)}`),
    }),
  ],
  [
    "a hint before the answer",
    ({ secret, text }) => ({
      reply: [
        Buffer.from(`HTTP/1.1 103 Early Hints${CRLF}Link: </${text}>; k=${secret}${CRLF}${CRLF}`),
        ...answer(200, message("Hi")),
      ],
    }),
  ],
  [
    "the reason phrase",
    ({ text }) => ({ reply: [Buffer.from(String(answer(500, "{}")[0]).replace("Status", text))] }),
  ],
];

function toShape(name: string, draft: Draft, number: number): Shape {
  const {
    host = "api.anthropic.com",
    method = "POST",
    path = "/v1/messages",
    headers = [],
    type = "application/json",
  } = draft;
  const body = Buffer.from(draft.body ?? ask("Hi"));
  const framing = draft.piece === undefined ? `Content-Length: ${body.length}` : "Transfer-Encoding: chunked";
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    `X-Shape: ${number}`,
    "X-Meter-Project: canaries",
    ...(body.length > 0 ? [`Content-Type: ${type}`] : []),
    ...headers,
    "Connection: close",
    framing,
  ];
  const bytes = Buffer.from(`${head.join(CRLF)}${CRLF}${CRLF}`, "latin1");
  const request =
    draft.piece === undefined
      ? [Buffer.concat([bytes, body])]
      : [
          bytes,
          ...inPieces(body, draft.piece).map((chunk) =>
            Buffer.concat([Buffer.from(chunk.length.toString(16) + CRLF), chunk, Buffer.from(CRLF)]),
          ),
          Buffer.from(["0", ...(draft.trailer === undefined ? [] : [draft.trailer]), "", ""].join(CRLF)),
        ];
  const { reply = answer(200, message("Fine.")), isStored = false, unredacted = null } = draft;
  return { name, host, request, reply, isStored, unredacted };
}

/** All shapes; the canaries of each have its number. */
export const shapes: readonly Shape[] = drafts.map(([name, draft], number) =>
  toShape(name, draft({ secret: canary("secret", number), text: canary("text", number) }), number),
);
