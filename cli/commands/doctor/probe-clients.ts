import { createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { createLeafIssuer } from "../../../adapters/certificates/leaf-issuer.ts";
import { findProgram } from "../../../adapters/installer/find-machine.ts";
import { createProgramRunner } from "../../../adapters/installer/run-program.ts";
import type { ClientFacts, ClientOutcome } from "../../../core/operations/doctor/doctor-facts.ts";
import type { CertificatePair } from "../../../core/ports/certificates.ts";
import { TLS_TEST_HOST } from "../../install/install.ts";
import { knownToIgnoreProxy, type trustVariables } from "../../install/run-environment.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How long a client may take to print its version, and to make one call, in milliseconds each. */
const CALL_TIMEOUT_MS = 4_000;

/** Maximum length of the part of a program's error output that is shown. */
const MAX_ERROR_CHARACTERS = 200;

/** The response of the test proxy: 401, as from a provider to a call without a key. */
const unauthorisedResponse =
  "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";

/** What the test proxy has seen of a client. */
interface Seen {
  /** Whether the client connected to the provider's host through the proxy. */
  connected: boolean;
  /** Whether it accepted a certificate of meter's authority. */
  trusted: boolean;
}

/**
 * Starts a test proxy on a free port. It terminates TLS with a certificate of meter's authority, as the daemon's proxy does,
 * but opens no connections, so a client can be tested without the internet, a key or cost.
 */
function startTestProxy(authority: CertificatePair): Promise<{ port: number; seen: Seen; server: Server }> {
  const leaf = createLeafIssuer(authority).issue(TLS_TEST_HOST, Date.now());
  const seen: Seen = { connected: false, trusted: false };
  const serve = (socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", (head) => {
      if (!head.toString("latin1").startsWith(`CONNECT ${TLS_TEST_HOST}:443 `)) {
        socket.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
        return;
      }
      seen.connected = true;
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      const secure = new TLSSocket(socket, {
        isServer: true,
        key: leaf.keyPem,
        cert: leaf.certificatePem,
        ALPNProtocols: ["http/1.1"],
      });
      secure.on("error", () => {});
      // Only a client that accepted the certificate sends a request. With TLS 1.3 the handshake alone does not show it.
      secure.once("data", () => {
        seen.trusted = true;
        secure.end(unauthorisedResponse);
      });
    });
  };
  const server = createServer(serve);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      resolve({ port: (server.address() as { port: number }).port, seen, server });
    });
  });
}

/** Returns the variables with the test proxy's address in place of the proxy's. */
function withTestProxy(env: Environment, proxyPort: number, port: number): Environment {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      /_proxy$/i.test(name) && !/^no_proxy$/i.test(name)
        ? value?.replace(new RegExp(`[^/@]*:${proxyPort}(?=/?$)`), `127.0.0.1:${port}`)
        : value,
    ]),
  );
}

const url = `https://${TLS_TEST_HOST}/`;

/** Clients that can make one call without a login, with the arguments for it. */
const callers: readonly (readonly [name: string, words: readonly string[]])[] = [
  ["node", ["-e", `fetch("${url}").then((r) => r.arrayBuffer(), () => process.exit(1))`]],
  ["python3", ["-c", `import urllib.request; urllib.request.urlopen("${url}")`]],
  ["curl", ["-sS", "-o", "-", url]],
];

/** Clients whose calls need a login, with their trust variables. One of these must be set. */
const agents: readonly (readonly [name: string, trust: readonly (typeof trustVariables)[number][]])[] = [
  ["claude", ["NODE_EXTRA_CA_CERTS"]],
  ["codex", ["CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"]],
  ["gemini", ["NODE_EXTRA_CA_CERTS"]],
];

/** Returns the error message in a program's output: the line that starts with its name, as curl's does, or the last line. */
function errorLineIn(stderr: string): string | null {
  const lines = stderr.trim().split("\n");
  const line = lines.find((each) => /^\w+: /.test(each)) ?? lines.at(-1) ?? "";
  return line === "" ? null : line.slice(0, MAX_ERROR_CHARACTERS);
}

const versionIn = (text: string): string | null => /\d+\.\d+(?:\.\d+)?\S*/.exec(text)?.[0] ?? null;

/**
 * Runs each client found on the `PATH`, in the given environment, against a test proxy, and returns what it did. Coding
 * agents only print their version.
 */
export async function probeClients(
  env: Environment,
  proxyPort: number,
  authority: CertificatePair,
): Promise<ClientFacts[]> {
  const found = await Promise.all([
    ...callers.map(([name, words]) => probeCaller(name, words, { env, proxyPort, authority })),
    ...agents.map(([name, trust]) => checkAgent(name, trust, env)),
  ]);
  return found.filter((each) => each !== null);
}

/** Lets a client make one call through a test proxy; null if it is not installed. */
async function probeCaller(
  name: string,
  words: readonly string[],
  {
    env,
    proxyPort,
    authority,
  }: { readonly env: Environment; readonly proxyPort: number; readonly authority: CertificatePair },
): Promise<ClientFacts | null> {
  const path = findProgram(name, env);
  const versionText = path === null ? null : await readVersion(path, env);
  if (path === null || versionText === null) return null;
  const { port, seen, server } = await startTestProxy(authority);
  try {
    const { stderr, isTimedOut } = await createProgramRunner(withTestProxy(env, proxyPort, port))(
      [path, ...words],
      {
        timeoutMs: CALL_TIMEOUT_MS,
      },
    );
    const [outcome, why] = judgeCaller(name, versionText, { seen, stderr, isTimedOut, env });
    return { name, version: versionIn(versionText), outcome, why };
  } finally {
    server.close();
  }
}

/** Returns what a client's call through the test proxy shows, with the reason if there is one. */
function judgeCaller(
  name: string,
  versionText: string,
  {
    seen,
    stderr,
    isTimedOut,
    env,
  }: {
    readonly seen: Seen;
    readonly stderr: string;
    readonly isTimedOut: boolean;
    readonly env: Environment;
  },
): [outcome: ClientOutcome, why: string | null] {
  if (seen.trusted) return ["metered", null];
  const ignoresProxy = seen.connected ? null : knownToIgnoreProxy(name, versionText);
  if (ignoresProxy !== null) return ["outdated", ignoresProxy];
  if (isTimedOut) return ["timed_out", null];
  if (seen.connected) return ["distrusts", errorLineIn(stderr)];
  const isUnset = name === "node" && env.NODE_USE_ENV_PROXY !== "1";
  return ["bypasses", isUnset ? "NODE_USE_ENV_PROXY=1 is not set" : null];
}

/** Checks whether the environment has the variables that a coding agent needs; null if the agent is not installed. */
async function checkAgent(
  name: string,
  trust: readonly (typeof trustVariables)[number][],
  env: Environment,
): Promise<ClientFacts | null> {
  const path = findProgram(name, env);
  if (path === null) return null;
  const missing = [
    ...(env.HTTPS_PROXY ? [] : ["HTTPS_PROXY"]),
    ...(trust.some((variable) => env[variable]) ? [] : [trust.join(" or ")]),
  ];
  return {
    name,
    version: versionIn((await readVersion(path, env)) ?? ""),
    outcome: missing.length === 0 ? "expected" : "lacks_variables",
    why: missing.length === 0 ? null : missing.join(", "),
  };
}

async function readVersion(path: string, env: Environment): Promise<string | null> {
  const { code, stdout } = await createProgramRunner(env)([path, "--version"], {
    timeoutMs: CALL_TIMEOUT_MS,
  });
  return code === 0 ? stdout.trim() : null;
}
