import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { WebSocket } from "ws";
import { type CanaryRig, readToken } from "./canary.rig.ts";
import { type CanaryKind, canary } from "./canary-search.rig.ts";
import { shapes } from "./canary-shapes.rig.ts";
import { meterWords, runProgram, waitFor } from "./meter-process.rig.ts";
import { dialProvider, dialTcp, receive } from "./raw-client.rig.ts";

/** Canaries that are sent in other ways than the listed shapes. */
export const more = [
  "gateway",
  "argument",
  "variable",
  "remote",
  "socket",
  "answer",
  "login",
  "host",
  "parent",
].map((name, index) => [name, shapes.length + index] as const);
/** Returns the canary of one of these ways. */
export const planted = (kind: CanaryKind, name: string): string =>
  canary(kind, more.find((each) => each[0] === name)?.[1] ?? Number.NaN);
/** The remote of the repository that a client runs in, without its login. It tells projects apart on this machine. */
export const ownRemote = "git.example.com/anns-team/canaries";

const key = (name: string) => `sk-ant-api03-${planted("secret", name)}A1b2C3d4E5f6G7h8J9k0`;

/** A client in a separate process, which is found by its folder, its arguments and its variables. */
const client = `
const body = { model: "claude-sonnet-4-5", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
const answer = await fetch("https://api.anthropic.com/v1/messages", {
  method: "POST",
  headers: { "content-type": "application/json", "x-shape": "0" },
  body: JSON.stringify(body),
});
await answer.text();
`;

/** The provider's messages on a WebSocket: a response in parts. */
export function answerSession(text: string): string[] {
  const { response } = JSON.parse(text) as { response: { instructions: string } };
  const id = "resp_1";
  return [
    { type: "response.created", response: { id, status: "in_progress" } },
    { type: "response.output_text.delta", response_id: id, delta: planted("text", "answer") },
    {
      type: "response.output_text.delta",
      response_id: id,
      delta: `${key("answer")} ${response.instructions}`,
    },
    {
      type: "response.done",
      response: {
        id,
        status: "completed",
        output: [{ type: "message", content: [{ type: "output_text", text: key("answer") }] }],
        usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
      },
    },
  ].map((message) => JSON.stringify(message));
}

async function sendShapes({ meter }: CanaryRig): Promise<void> {
  for (const { name, host, request } of shapes) {
    const socket = await dialProvider(meter, host);
    let isOver = false;
    receive(socket).over.then(() => (isOver = true));
    for (const piece of request) await new Promise((resolve) => socket.write(piece, resolve));
    await waitFor(`an end to ${name}`, () => isOver);
  }
}

/** The ways other than a request over TLS to a provider. */
async function sendOtherwise({ meter, folder, home }: CanaryRig): Promise<void> {
  const tcp = async (head: readonly string[], body = "") => {
    const socket = await dialTcp(meter.proxyPort);
    const { over, bytes } = receive(socket);
    socket.write(`${[...head, `Content-Length: ${Buffer.byteLength(body)}`, "", ""].join("\r\n")}${body}`);
    await waitFor("an answer", () => bytes().length > 0);
    socket.destroy();
    await over;
  };
  const prompt = `${planted("text", "gateway")} ${key("gateway")}`;
  await tcp(
    [
      `POST /anthropic/v1/messages?key=${planted("secret", "gateway")} HTTP/1.1`,
      `Host: 127.0.0.1:${meter.proxyPort}`,
      "X-Shape: 0",
      "X-Meter-Project: canaries",
      `X-Api-Key: ${key("gateway")}`,
      "Content-Type: application/json",
    ],
    JSON.stringify({ model: "claude-sonnet-4-5", messages: [{ role: "user", content: prompt }] }),
  );
  const login = Buffer.from(`canaries:${planted("secret", "login")}`).toString("base64");
  for (const host of [`${planted("text", "host")}.example:443`, "api.anthropic.com:443"]) {
    await tcp([`CONNECT ${host} HTTP/1.1`, `Host: ${host}`, `Proxy-Authorization: Basic ${login}`]);
  }

  const socket = await dialProvider(meter, "api.openai.com");
  const session = new WebSocket("ws://api.openai.com/v1/realtime?model=gpt-realtime", {
    createConnection: () => socket,
    headers: { "x-meter-project": "canaries", authorization: `Bearer ${key("socket")}` },
  });
  const told: unknown[] = [];
  session.on("message", (data) => told.push(JSON.parse(String(data)).type));
  await once(session, "open");
  const ask = {
    type: "response.create",
    response: { instructions: `${planted("text", "socket")} ${key("socket")}` },
  };
  const asked = Buffer.from(JSON.stringify(ask));
  // Over three frames, the second of which begins in the middle of the key.
  session.send(asked.subarray(0, 70), { fin: false, binary: false });
  session.send(asked.subarray(70, 120), { fin: false, binary: false });
  session.send(asked.subarray(120), { binary: false });
  await waitFor("the end of the response", () => told.at(-1) === "response.done");
  session.close();
  await once(session, "close");

  const project = join(folder, "canaries");
  mkdirSync(join(project, ".git"), { recursive: true });
  const remote = `https://ann:${planted("secret", "remote")}@${ownRemote}.git`;
  writeFileSync(join(project, ".git", "config"), `[remote "origin"]\n\turl = ${remote}\n`);
  const words = ["run", "--", process.execPath, "--input-type=module", "-e", client, "--", key("argument")];
  const ran = await runProgram([...meterWords, ...words, planted("text", "argument")], {
    cwd: project,
    env: {
      METER_HOME: home,
      ANTHROPIC_API_KEY: key("variable"),
      PROMPT: planted("text", "variable"),
    },
  });
  assert.equal(ran.code, 0, ran.stderr);
}

/** Sends everything, waits until it is stored, and has it sent to the cloud. */
export async function drive(rig: CanaryRig): Promise<void> {
  await sendShapes(rig);
  await sendOtherwise(rig);
  const { code, stderr } = await rig.meter.run(["sync"]);
  assert.equal(code, 0, stderr);
}

/** Does the same with bodies that are stored here and offered to the cloud. */
export async function capture(rig: CanaryRig): Promise<void> {
  for (const words of [
    ["project", "canaries", "set", "body-capture", "on"],
    ["cloud", "privacy", "set", "bodies.enabled", "true"],
  ]) {
    assert.equal((await rig.meter.run(words)).code, 0);
  }
  // The daemon reads the setting once a second.
  await waitFor("bodies to be kept", async () => {
    const socket = await dialProvider(rig.meter, "api.anthropic.com");
    socket.write(Buffer.concat(shapes[0]?.request ?? []));
    await receive(socket).over;
    return rig.localRows().bodies.length > 0;
  });
  await drive(rig);
}

/** Sends a body of a synced request as a daemon without redaction would. Returns the response. */
export async function offer(
  { home, cloud }: CanaryRig,
  requestId: string,
  number: number,
  text: Buffer,
): Promise<unknown> {
  const answer = await fetch(`${cloud.url}/v1/requests/${requestId}/body`, {
    method: "POST",
    headers: { authorization: `Bearer ${readToken(home)}`, "content-type": "application/json" },
    body: JSON.stringify({
      request_id: requestId,
      direction: "request",
      content_type: `text/plain; note=${canary("text", number)}`,
      body_b64: text.toString("base64"),
      redaction_applied: false,
      redaction_summary: [canary("secret", number)],
      original_size_bytes: text.length,
    }),
  });
  return await answer.json();
}

let answers = 0;

/** The response to a request with its own id, if that can be read: a repeated id is not a new request. */
export function withOwnId(piece: Buffer): Buffer {
  answers += 1;
  const id = Buffer.from(`m${String(answers).padStart(4, "0")}`);
  const at = piece.indexOf("msg_1");
  return at < 0 ? piece : Buffer.concat([piece.subarray(0, at), id, piece.subarray(at + id.length)]);
}
