import { createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { createLeafIssuer } from "../../adapters/certificates/mod.ts";
import { createRunWords, findProgram } from "../../adapters/installer/mod.ts";
import type { ClientFacts, ClientOutcome } from "../../core/doctor/mod.ts";
import type { CertificatePair } from "../../core/ports/certificates.ts";
import { TLS_TEST_HOST } from "../install.ts";
import { knownToIgnoreProxy, type trustVariables } from "../run-environment.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How long a client may take to make one call, in milliseconds. */
const CALL_WITHIN_MS = 15_000;

/** So much of what a program complains of is shown. */
const MOST_CHARACTERS = 200;

/** Says no to whoever asks, as a provider does to a call without a key. */
const refusal =
  "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";

/** What has arrived at a stand-in. */
interface Seen {
  /** A client asked for the provider's host. */
  arrived: boolean;
  /** And accepted a certificate of the meter's authority. */
  trusted: boolean;
}

/**
 * A stand-in for the proxy, on a port of its own: it opens TLS with the meter's authority as the proxy does, and connects to
 * nobody. So what a client would do can be seen without the internet, a key or a bill.
 */
function startStandIn(authority: CertificatePair): Promise<{ port: number; seen: Seen; server: Server }> {
  const leaf = createLeafIssuer(authority).issue(TLS_TEST_HOST, Date.now());
  const seen: Seen = { arrived: false, trusted: false };
  const serve = (socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", (head) => {
      if (!head.toString("latin1").startsWith(`CONNECT ${TLS_TEST_HOST}:443 `)) {
        socket.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
        return;
      }
      seen.arrived = true;
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      const secure = new TLSSocket(socket, {
        isServer: true,
        key: leaf.keyPem,
        cert: leaf.certificatePem,
        ALPNProtocols: ["http/1.1"],
      });
      secure.on("error", () => {});
      // Only who accepted the certificate goes on to ask; with TLS 1.3 the handshake alone does not say.
      secure.once("data", () => {
        seen.trusted = true;
        secure.end(refusal);
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

/** The same variables with the stand-in in the proxy's place. */
function leadElsewhere(env: Environment, proxyPort: number, port: number): Environment {
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

/** Clients that can be told to make one call without a login, and how. */
const callers: readonly (readonly [name: string, words: readonly string[]])[] = [
  ["node", ["-e", `fetch("${url}").then((r) => r.arrayBuffer(), () => process.exit(1))`]],
  ["python3", ["-c", `import urllib.request; urllib.request.urlopen("${url}", timeout=10)`]],
  ["curl", ["-sS", "--max-time", "10", "-o", "-", url]],
];

/** Clients whose calls take a login, with the variables of which they need one. */
const agents: readonly (readonly [name: string, trust: readonly (typeof trustVariables)[number][]])[] = [
  ["claude", ["NODE_EXTRA_CA_CERTS"]],
  ["codex", ["CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"]],
  ["gemini", ["NODE_EXTRA_CA_CERTS"]],
];

/** What a program complained of: the line that bears its name, as curl's does, or the last one. */
function lastWords(stderr: string): string | null {
  const lines = stderr.trim().split("\n");
  const line = lines.find((each) => /^\w+: /.test(each)) ?? lines.at(-1) ?? "";
  return line === "" ? null : line.slice(0, MOST_CHARACTERS);
}

const versionIn = (text: string): string | null => /\d+\.\d+(?:\.\d+)?\S*/.exec(text)?.[0] ?? null;

/**
 * Runs each client that is on the `PATH`, in the given environment, against a stand-in for the proxy, and says what it did.
 * Coding agents are asked for their version alone.
 */
export async function probeClients(
  env: Environment,
  proxyPort: number,
  authority: CertificatePair,
): Promise<ClientFacts[]> {
  const run = createRunWords(env);
  const version = async (path: string) => {
    const { code, stdout } = await run([path, "--version"], { timeoutMs: CALL_WITHIN_MS });
    return code === 0 ? stdout.trim() : null;
  };
  const called = callers.map(async ([name, words]): Promise<ClientFacts | null> => {
    const path = findProgram(name, env);
    if (path === null) return null;
    const said = await version(path);
    if (said === null) return null;
    const { port, seen, server } = await startStandIn(authority);
    try {
      const { stderr } = await createRunWords(leadElsewhere(env, proxyPort, port))([path, ...words], {
        timeoutMs: CALL_WITHIN_MS,
      });
      const found = (outcome: ClientOutcome, why: string | null): ClientFacts => ({
        name,
        version: versionIn(said),
        outcome,
        why,
      });
      if (seen.trusted) return found("metered", null);
      if (seen.arrived) return found("distrusts", lastWords(stderr));
      const tooOld = knownToIgnoreProxy(name, said);
      if (tooOld !== null) return found("outdated", tooOld);
      const unset = name === "node" && env.NODE_USE_ENV_PROXY !== "1";
      return found("bypasses", unset ? "NODE_USE_ENV_PROXY=1 is not set" : null);
    } finally {
      server.close();
    }
  });
  const expected = agents.map(async ([name, trust]): Promise<ClientFacts | null> => {
    const path = findProgram(name, env);
    if (path === null) return null;
    const lacks = [
      ...(env.HTTPS_PROXY ? [] : ["HTTPS_PROXY"]),
      ...(trust.some((variable) => env[variable]) ? [] : [trust.join(" or ")]),
    ];
    return {
      name,
      version: versionIn((await version(path)) ?? ""),
      outcome: lacks.length === 0 ? "expected" : "lacks_variables",
      why: lacks.length === 0 ? null : lacks.join(", "),
    };
  });
  return (await Promise.all([...called, ...expected])).filter((each) => each !== null);
}
