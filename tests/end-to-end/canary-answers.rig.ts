import { Buffer } from "node:buffer";
import { brotliCompressSync, gzipSync } from "node:zlib";
import {
  answer,
  ask,
  CRLF,
  chat,
  type Draft,
  deltas,
  gemini,
  halves,
  inPieces,
  keys,
  message,
  openai,
  type Planted,
  stream,
} from "./canary-messages.rig.ts";

/** Canaries in the responses of a provider. */
export const answerDrafts: readonly (readonly [name: string, draft: (planted: Planted) => Draft])[] = [
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
