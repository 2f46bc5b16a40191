import { once } from "node:events";
import { Agent, createServer, request, type Server } from "node:http";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import type { StoredRequest } from "../daemon/store/mod.ts";
import { withStore } from "./open-store.ts";

/** How long a self-test may take altogether, in milliseconds. */
const TEST_WITHIN_MS = 15_000;
const POLL_MS = 50;
const MOST_ATTEMPTS = 20;

/** The provider that lives on this machine: Ollama's port. A call to it leaves neither the machine nor a bill. */
const LOCAL_PROVIDER_PORT = 11_434;

const LOCAL_HOST = "127.0.0.1";

/** The project and model of the self-test's call. */
const SELF_TEST_NAME = "meter-self-test";

/** What the self-test showed. */
export type SelfTest =
  /** A call to a stand-in on this machine became a record with the tokens that it stated. */
  | { readonly ok: true; readonly how: "metered" }
  /** Ollama runs here; a question to it that costs nothing passed through the proxy and was counted. */
  | { readonly ok: true; readonly how: "counted" }
  | { readonly ok: false; readonly why: string };

/** Where the daemon is and how to log in to its proxy. */
export interface SelfTestTarget {
  readonly home: string;
  /** Where this machine reaches the proxy; 127.0.0.1 where nothing is said. */
  readonly proxyHost?: string | undefined;
  readonly proxyPort: number;
  readonly proxyPassword: string | null;
}

const answer = JSON.stringify({
  model: SELF_TEST_NAME,
  created_at: "2026-01-01T00:00:00Z",
  message: { role: "assistant", content: "ok" },
  done: true,
  done_reason: "stop",
  prompt_eval_count: 3,
  eval_count: 2,
});

/** A stand-in for Ollama that answers with five tokens; null where its port is taken. */
async function startStandIn(): Promise<Server | null> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume().on("end", () => {
      outgoing.writeHead(200, { "content-type": "application/json", connection: "close" }).end(answer);
    });
  });
  server.listen(LOCAL_PROVIDER_PORT, LOCAL_HOST);
  const isListening = await once(server, "listening").then(
    () => true,
    () => false,
  );
  return isListening ? server : null;
}

function askThroughProxy(
  { proxyHost = LOCAL_HOST, proxyPort, proxyPassword }: SelfTestTarget,
  method: "GET" | "POST",
  path: string,
): Promise<number> {
  const body =
    method === "POST" ? JSON.stringify({ model: SELF_TEST_NAME, stream: false, messages: [] }) : "";
  const login =
    proxyPassword === null
      ? {}
      : {
          "proxy-authorization": `Basic ${Buffer.from(`${SELF_TEST_NAME}:${proxyPassword}`).toString("base64")}`,
        };
  return new Promise((resolve, reject) => {
    const asking = request(
      {
        host: proxyHost,
        port: proxyPort,
        method,
        path: `http://127.0.0.1:${LOCAL_PROVIDER_PORT}${path}`,
        agent: new Agent(),
        timeout: TEST_WITHIN_MS,
        headers: {
          host: `127.0.0.1:${LOCAL_PROVIDER_PORT}`,
          "x-meter-project": SELF_TEST_NAME,
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
    asking.on("timeout", () => asking.destroy(new Error("no answer in time")));
    asking.on("error", reject);
    asking.end(body);
  });
}

async function poll(look: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + TEST_WITHIN_MS;
  while (performance.now() < deadline) {
    if (await look()) return true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return false;
}

/**
 * Sends one call through the proxy to a provider's address on this machine and sees whether it was metered. Nothing leaves
 * the machine and nothing is spent. The record of the stand-in's call is deleted again, and is not counted.
 */
export async function selfTest(target: SelfTestTarget): Promise<SelfTest> {
  try {
    for (let attempt = 1; ; attempt += 1) {
      const test = await tryOnce(target);
      // Whoever had the port may have given it up in between: another meter's self-test, or an Ollama that ended.
      if (test !== "nobody_there") return test;
      if (attempt === MOST_ATTEMPTS)
        return { ok: false, why: `nobody could be asked on port ${LOCAL_PROVIDER_PORT} of this machine` };
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } catch (cause) {
    return { ok: false, why: (cause as Error).message };
  }
}

async function tryOnce(target: SelfTestTarget): Promise<SelfTest | "nobody_there"> {
  const standIn = await startStandIn();
  if (standIn === null) return testCounting(target);
  try {
    return await testMetering(target);
  } finally {
    standIn.close();
  }
}

async function testCounting(target: SelfTestTarget): Promise<SelfTest | "nobody_there"> {
  const counted = () =>
    withStore(target.home, { readOnly: true }, async (store) =>
      store
        .readCoverage({ from: null, to: null })
        .filter(({ host, kind }) => host === LOCAL_HOST && kind === "free")
        .reduce((sum, { count }) => sum + count, 0),
    );
  const before = await counted();
  // Whoever has the port may end in the middle of an answer.
  const status = await askThroughProxy(target, "GET", "/api/version").catch(() => null);
  if (status === null || status === 502) return "nobody_there";
  if (status === 407 || status === 403) return { ok: false, why: `the proxy answered ${status}` };
  return (await poll(async () => (await counted()) > before))
    ? { ok: true, how: "counted" }
    : { ok: false, why: "a call passed through the proxy and was not counted" };
}

async function testMetering(target: SelfTestTarget): Promise<SelfTest> {
  const { home } = target;
  const startedAt = Date.now() - 1_000;
  const status = await askThroughProxy(target, "POST", "/api/chat");
  if (status !== 200) return { ok: false, why: `the call was answered with ${status}, not with 200` };
  let found: readonly StoredRequest[] = [];
  const stored = await poll(async () => {
    found = await withStore(home, { readOnly: true }, async (store) =>
      store
        .readRequests({ from: startedAt, to: null, afterSeq: 0, limit: 10_000 })
        .filter(
          ({ model, tokens }) =>
            model === SELF_TEST_NAME && tokens.promptTokens === 3 && tokens.completionTokens === 2,
        ),
    );
    return found.length > 0;
  });
  if (!stored) return { ok: false, why: "a call passed through the proxy and was not metered" };
  await withStore(home, { readOnly: false }, async (store) => {
    store.deleteRequests(found.map(({ requestId }) => requestId));
    // What was asked for the test alone is no coverage of anybody's calls.
    store.addCoverage(
      found.map(({ requestedAt: at }) => ({ at, host: LOCAL_HOST, kind: "metered", count: -1 })),
    );
  });
  return { ok: true, how: "metered" };
}

/** What a TLS connection to a provider through the proxy showed. */
export type InterceptionCheck = "intercepted" | "not_intercepted" | "untrusted" | "offline";

/**
 * Opens TLS to a provider's host through the proxy and asks for nothing (`HEAD /`, no key): does the certificate that comes
 * back lead to this installation's authority? Needs the internet, and says so where there is none.
 */
export async function checkInterception(
  { proxyHost = LOCAL_HOST, proxyPort, proxyPassword }: Omit<SelfTestTarget, "home">,
  host: string,
  caPem: string,
): Promise<InterceptionCheck> {
  const login =
    proxyPassword === null
      ? ""
      : `Proxy-Authorization: Basic ${Buffer.from(`${SELF_TEST_NAME}:${proxyPassword}`).toString("base64")}\r\n`;
  const socket = connectTcp(proxyPort, proxyHost);
  socket.setTimeout(TEST_WITHIN_MS, () => socket.destroy());
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
      // A certificate that does not lead to ours is the provider's own: the connection was passed on unread.
      secure.on("error", (error: NodeJS.ErrnoException) => {
        resolve(/CERT|SELF_SIGNED|ISSUER|VERIFY/.test(error.code ?? "") ? "not_intercepted" : "untrusted");
        socket.destroy();
      });
      secure.once("secureConnect", () => {
        // However it ends from here, the certificate was ours. A request goes out so that nobody counts it as unused.
        resolve("intercepted");
        secure.end(`HEAD / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
        secure.resume();
      });
    });
  });
}
