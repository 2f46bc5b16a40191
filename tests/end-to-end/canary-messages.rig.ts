import { Buffer } from "node:buffer";

/** The canaries of a shape. */
export interface Planted {
  readonly secret: string;
  readonly text: string;
}

/** A shape with only what differs from an ordinary call. */
export interface Draft {
  readonly host?: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly string[];
  readonly type?: string;
  readonly body?: string | Buffer;
  /** The number of bytes in each write; the body then has chunks of the same size. */
  readonly piece?: number;
  readonly trailer?: string;
  readonly reply?: readonly Buffer[];
  readonly isStored?: boolean;
  readonly unredacted?: string;
}

export const CRLF = "\r\n";
/** Makes a key as long as a real one. */
export const TAIL = "A1b2C3d4E5f6G7h8J9k0";

/** Returns a key in Anthropic's form that contains a canary. The following functions do the same for other forms. */
export const keys = {
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
export const escaped = (text: string) =>
  [...text].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

/** A call of Anthropic's API. */
export const ask = (content: unknown, more: object = {}) =>
  JSON.stringify({
    model: "claude-sonnet-4-5",
    max_tokens: 64,
    messages: [{ role: "user", content }],
    ...more,
  });

/** A response in one write. */
export function answer(
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

/** The body of an ordinary response. */
export const message = (content: unknown) =>
  JSON.stringify({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5-20250929",
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
    usage: { input_tokens: 5, output_tokens: 7 },
  });

/** A response in events, each in its own chunk and write. */
export function stream(events: readonly object[]): Buffer[] {
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

/** Events that contain a response in parts. */
export const deltas = (kind: string, parts: readonly string[]) =>
  parts.map((part) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: `${kind}_delta`, [kind]: part },
  }));

/** Split in the middle, so that no part contains all of it. */
export const halves = (text: string) => {
  const middle = Math.floor(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
};

/** The bytes in pieces of a size. */
export const inPieces = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size));

/** The path of OpenAI's chat. */
export const openai = { host: "api.openai.com", path: "/v1/chat/completions" };
/** A call of it. */
export const chat = (content: string) =>
  JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content }] });
/** The path of Gemini's model. */
export const gemini = {
  host: "generativelanguage.googleapis.com",
  path: "/v1beta/models/gemini-2.5-pro:generateContent",
};
