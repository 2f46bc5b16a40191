import { once } from "node:events";
import { Agent, createServer, request, type Server } from "node:http";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import { SELF_TEST_PROJECT } from "../../core/privacy/policy/upload-policy.ts";
import type { StoredRequest } from "../../daemon/store/port/records.ts";
import type { Store } from "../../daemon/store/port/store.ts";
import { withStore } from "../home/open-store.ts";
import { CommandFailure } from "../program/exit-codes.ts";

/** Default time limit of a self-test, in milliseconds. */
const TEST_TIMEOUT_MS = 15_000;
const POLL_MS = 50;
const MAX_ATTEMPTS = 20;

/** The port of Ollama, the provider that runs on this machine. A call to it costs nothing and stays on the machine. */
const LOCAL_PROVIDER_PORT = 11_434;

const LOCAL_HOST = "127.0.0.1";

/** The model of the test call. */
const SELF_TEST_MODEL = "meter-self-test";

/** How many test calls are deleted at once. There is one, unless earlier tests ended before their records were stored. */
const MAX_TEST_CALLS = 1_000;

/** The result of the self-test. */
export type SelfTest =
  /** A call to a test server on this machine became a record with the right token counts. */
  | { readonly ok: true; readonly how: "metered" }
  /** A budget that is used up refused the call, as it refuses others, and it became a record. */
  | { readonly ok: true; readonly how: "refused" }
  /** Ollama runs on this machine; a free call to it went through the proxy and was counted. */
  | { readonly ok: true; readonly how: "counted" }
  /** `why` is a sentence. */
  | { readonly ok: false; readonly why: string };

/** What a test that succeeded has shown, as a sentence. */
export const SELF_TEST_MESSAGES: Readonly<Record<Extract<SelfTest, { ok: true }>["how"], string>> = {
  metered: "A call through the proxy to a test server on this machine was metered correctly (5 tokens).",
  refused:
    "A budget refused a call through the proxy to a test server on this machine, and the call was recorded.",
  counted: "A call through the proxy to Ollama on this machine was counted.",
};

/** The daemon to test, and how to log in to its proxy. */
export interface SelfTestTarget {
  readonly home: string;
  /** The address at which this machine reaches the proxy; 127.0.0.1 by default. */
  readonly proxyHost?: string | undefined;
  readonly proxyPort: number;
  readonly proxyPassword: string | null;
  /** Time limit of the whole test in milliseconds; 15 s by default. */
  readonly timeoutMs?: number;
}

const testResponse = JSON.stringify({
  model: SELF_TEST_MODEL,
  created_at: "2026-01-01T00:00:00Z",
  message: { role: "assistant", content: "ok" },
  done: true,
  done_reason: "stop",
  prompt_eval_count: 3,
  eval_count: 2,
});

/** Starts a test server on Ollama's port, which responds with five tokens; null if the port is in use. */
async function startTestServer(): Promise<Server | null> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume().on("end", () => {
      outgoing.writeHead(200, { "content-type": "application/json", connection: "close" }).end(testResponse);
    });
  });
  server.listen(LOCAL_PROVIDER_PORT, LOCAL_HOST);
  const isListening = await once(server, "listening").then(
    () => true,
    () => false,
  );
  return isListening ? server : null;
}

/** Sends a call to the local provider through the proxy and returns the status. */
function callThroughProxy(
  { proxyHost = LOCAL_HOST, proxyPort, proxyPassword }: SelfTestTarget,
  method: "GET" | "POST",
  path: string,
  timeoutMs: number,
): Promise<number> {
  const body =
    method === "POST" ? JSON.stringify({ model: SELF_TEST_MODEL, stream: false, messages: [] }) : "";
  const login =
    proxyPassword === null
      ? {}
      : {
          "proxy-authorization": `Basic ${Buffer.from(`${SELF_TEST_PROJECT}:${proxyPassword}`).toString("base64")}`,
        };
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: proxyHost,
        port: proxyPort,
        method,
        path: `http://127.0.0.1:${LOCAL_PROVIDER_PORT}${path}`,
        agent: new Agent(),
        timeout: timeoutMs,
        headers: {
          host: `127.0.0.1:${LOCAL_PROVIDER_PORT}`,
          "x-meter-project": SELF_TEST_PROJECT,
          ...login,
          ...(method === "POST" && {
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
          }),
        },
      },
      (response) => {
        response.resume().on("end", () => resolve(response.statusCode ?? 0));
        response.on("error", reject);
      },
    );
    call.on("timeout", () => call.destroy(new ProxyTimeoutError(timeoutMs)));
    call.on("error", reject);
    call.end(body);
  });
}

/** The error of a call that the proxy accepted and did not answer. */
class ProxyTimeoutError extends Error {
  override name = "ProxyTimeoutError";
  constructor(timeoutMs: number) {
    super(`The proxy did not answer a call within ${Math.ceil(timeoutMs / 1000)} s.`);
  }
}

/** When a test must end, on the clock of `performance.now()`. */
type Deadline = number;

const msUntil = (deadline: Deadline): number => Math.max(1, deadline - performance.now());

async function poll(check: () => Promise<boolean>, deadline: Deadline): Promise<boolean> {
  while (performance.now() < deadline) {
    if (await check()) return true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return false;
}

/**
 * Sends one call through the proxy to a provider's address on this machine and checks that it was metered. Nothing leaves
 * the machine, and nothing is spent. The record of the call is deleted again and does not count in the coverage.
 */
export async function selfTest(target: SelfTestTarget): Promise<SelfTest> {
  const deadline = performance.now() + (target.timeoutMs ?? TEST_TIMEOUT_MS);
  try {
    for (let attempt = 1; ; attempt += 1) {
      const test = await tryOnce(target, deadline);
      // The program on the port may have just ended: another meter's self-test, or Ollama.
      if (test !== "no_provider") return test;
      if (attempt === MAX_ATTEMPTS)
        return {
          ok: false,
          why: `Another program uses port ${LOCAL_PROVIDER_PORT} of this machine and does not answer.`,
        };
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } catch (cause) {
    return {
      ok: false,
      why: describeFailedTest(cause as Error),
    };
  }
}

/** Describes why a test could not be made, in one line. */
function describeFailedTest(cause: Error): string {
  if (cause instanceof CommandFailure) return cause.message.replaceAll("\n", " ");
  return cause instanceof ProxyTimeoutError ? cause.message : `The proxy can't be reached: ${cause.message}.`;
}

async function tryOnce(target: SelfTestTarget, deadline: Deadline): Promise<SelfTest | "no_provider"> {
  const testServer = await startTestServer();
  if (testServer === null) return testCounting(target, deadline);
  try {
    return await testMetering(target, deadline);
  } finally {
    testServer.close();
  }
}

/** Tests with the Ollama that runs on this machine: a free call through the proxy must be counted. */
async function testCounting(target: SelfTestTarget, deadline: Deadline): Promise<SelfTest | "no_provider"> {
  const counted = () =>
    withStore(target.home, { readOnly: true }, async (store) =>
      store.coverage
        .read({ from: null, to: null })
        .filter(({ host, kind }) => host === LOCAL_HOST && kind === "free")
        .reduce((sum, { count }) => sum + count, 0),
    );
  const before = await counted();
  // The program on the port may end during the call; that is no fault of the proxy. A timeout is.
  const status = await callThroughProxy(target, "GET", "/api/version", msUntil(deadline)).catch(
    (cause: unknown) => {
      if (cause instanceof ProxyTimeoutError) throw cause;
      return null;
    },
  );
  if (status === null || status === 502) return "no_provider";
  if (status === 407 || status === 403)
    return { ok: false, why: `The proxy answered a call with ${status}.` };
  return (await poll(async () => (await counted()) > before, deadline))
    ? { ok: true, how: "counted" }
    : { ok: false, why: "A call through the proxy was not counted." };
}

/** Returns the stored test calls, also those of earlier tests that ended before the record was stored. */
async function readTestCalls({ records }: Pick<Store, "records">): Promise<readonly StoredRequest[]> {
  const query = { project: SELF_TEST_PROJECT, model: SELF_TEST_MODEL, from: null, to: null };
  return (await records.list({ ...query, beforeSeq: null, limit: MAX_TEST_CALLS }, async () => {})).requests;
}

/** Deletes test calls, and their part of the coverage: they are not the user's calls. */
function deleteTestCalls(
  { deletion, coverage }: Pick<Store, "deletion" | "coverage">,
  calls: readonly StoredRequest[],
): void {
  deletion.deleteRequests(calls.map(({ requestId }) => requestId));
  coverage.add(
    calls.map(({ requestedAt: at, blockedBy }) => ({
      ...{ at, host: LOCAL_HOST, count: -1 },
      kind: blockedBy === null ? "metered" : "blocked",
    })),
  );
}

/** The status of a call of Ollama's API that a budget refused. */
const REFUSED_STATUS = 400;

/** Tests with the test server: a call through the proxy must become a record. */
async function testMetering(target: SelfTestTarget, deadline: Deadline): Promise<SelfTest> {
  const { home } = target;
  const startedAt = Date.now() - 1_000;
  const status = await callThroughProxy(target, "POST", "/api/chat", msUntil(deadline));
  const unexpected = { ok: false, why: `The proxy answered a call with ${status} instead of 200.` } as const;
  if (status !== 200 && status !== REFUSED_STATUS) return unexpected;
  const isRefused = status === REFUSED_STATUS;
  const isExpected = ({ requestedAt, tokens, blockedBy }: StoredRequest) =>
    requestedAt >= startedAt &&
    (isRefused ? blockedBy !== null : tokens.promptTokens === 3 && tokens.completionTokens === 2);
  let found: readonly StoredRequest[] = [];
  const stored = await poll(async () => {
    found = await withStore(home, { readOnly: true }, readTestCalls);
    return found.some(isExpected);
  }, deadline);
  if (found.length > 0)
    await withStore(home, { readOnly: false }, async (store) => deleteTestCalls(store, found));
  if (!stored)
    return isRefused ? unexpected : { ok: false, why: "A call through the proxy was not metered." };
  return { ok: true, how: isRefused ? "refused" : "metered" };
}

/** The result of a TLS connection to a provider through the proxy. */
export type InterceptionCheck = "intercepted" | "not_intercepted" | "untrusted" | "offline";

/**
 * Opens a TLS connection to a provider's host through the proxy and checks that the certificate was issued by this
 * installation's authority. Sends only `HEAD /`, without a key. Returns `offline` if the host can't be reached.
 */
export async function checkInterception(
  {
    proxyHost = LOCAL_HOST,
    proxyPort,
    proxyPassword,
    timeoutMs = TEST_TIMEOUT_MS,
  }: Omit<SelfTestTarget, "home">,
  host: string,
  caPem: string,
): Promise<InterceptionCheck> {
  const login =
    proxyPassword === null
      ? ""
      : `Proxy-Authorization: Basic ${Buffer.from(`${SELF_TEST_PROJECT}:${proxyPassword}`).toString("base64")}\r\n`;
  const socket = connectTcp(proxyPort, proxyHost);
  // Not a socket timeout: a peer that sends single bytes would never reach it.
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  socket.once("close", () => clearTimeout(timer));
  return new Promise((resolve) => {
    socket.on("error", () => resolve("offline"));
    socket.once("close", () => resolve("offline"));
    socket.once("connect", () =>
      socket.write(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n${login}\r\n`),
    );
    socket.once("data", (head) => {
      if (!/^HTTP\/1\.1 200/.test(head.toString("latin1"))) {
        socket.destroy();
        return resolve("offline");
      }
      const secure = connectTls({
        socket,
        servername: host,
        ca: caPem,
        rejectUnauthorized: true, // explicit: the environment must not be able to turn it off
        ALPNProtocols: ["http/1.1"],
      });
      // A certificate of another authority is the provider's own: the connection was tunnelled.
      secure.on("error", (error: NodeJS.ErrnoException) => {
        resolve(/CERT|SELF_SIGNED|ISSUER|VERIFY/.test(error.code ?? "") ? "not_intercepted" : "untrusted");
        socket.destroy();
      });
      secure.once("secureConnect", () => {
        // The certificate is ours. The request keeps the daemon from counting the connection as unused.
        resolve("intercepted");
        secure.end(`HEAD / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
        secure.resume();
      });
    });
  });
}
