import type { Socket } from "node:net";
import type { CallQuestion, GateAnswer } from "../../../daemon/proxy/call-question.ts";
import type { RestOfBody } from "../../../daemon/proxy/long-questions.ts";
import type { ProxyConfig } from "../../../daemon/proxy/proxy-config.ts";
import {
  answerEach,
  type Cleanup,
  dialLocal,
  listenTcp,
  listenTls,
  openProxy,
  openServer,
  type TestProxy,
  tlsThrough,
} from "./proxy.rig.ts";

export const allowed: GateAnswer = { kind: "allow" };

export const post = (target: string, body = "{}", headers = "") =>
  `POST ${target} HTTP/1.1\r\nHost: HOST\r\nContent-Length: ${body.length}\r\n${headers}\r\n${body}`;

export interface Setup {
  readonly proxy: TestProxy;
  readonly client: Socket;
  readonly questions: CallQuestion[];
  readonly server: ReturnType<typeof openServer>;
  /** Returns a path as the client has to send it. */
  at(path: string): string;
  send(text: string): void;
}

/** Returns the answer to a question; null: it is given later, or not at all. */
export type Decide = (
  question: CallQuestion,
  rest: RestOfBody | null,
  answer: (answer: GateAnswer) => void,
) => GateAnswer | null;

export type Form = "intercepted" | "absolute" | "gateway";

/** Opens a proxy that holds calls, and a client that uses it in one form. */
export async function openHeld(
  cleanup: Cleanup,
  form: Form,
  decide: Decide,
  overrides: Partial<ProxyConfig> = {},
  serve = answerEach(),
): Promise<Setup> {
  const server = openServer(serve);
  const port = await (form === "absolute" ? listenTcp : listenTls)(cleanup, server.serve);
  const questions: CallQuestion[] = [];
  const proxy = await openProxy(
    cleanup,
    {
      gate: { fail: "open", timeoutMs: 2_000 },
      gatewayRoutes: [{ prefix: "/up", host: "localhost", port, tls: true, basePath: "" }],
      ...overrides,
    },
    undefined,
    (question, answer, _, rest) => {
      questions.push(question);
      const found = decide(question, rest, answer);
      if (found !== null) answer(found);
    },
  );
  const client = form === "intercepted" ? await tlsThrough(proxy.port, port) : await dialLocal(proxy.port);
  const prefix = form === "intercepted" ? "" : form === "absolute" ? `http://localhost:${port}` : "/up";
  const host = form === "gateway" ? `127.0.0.1:${proxy.port}` : `localhost:${port}`;
  return {
    proxy,
    client,
    questions,
    server,
    at: (path) => `${prefix}${path}`,
    send: (text) => void client.write(text.replaceAll("HOST", host)),
  };
}

export const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");
