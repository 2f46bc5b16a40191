import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";
import {
  ask,
  CRLF,
  chat,
  type Draft,
  escaped,
  gemini,
  keys,
  openai,
  type Planted,
  TAIL,
} from "./canary-messages.rig.ts";

/** Canaries in the requests of a client. */
export const requestDrafts: readonly (readonly [name: string, draft: (planted: Planted) => Draft])[] = [
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
];
