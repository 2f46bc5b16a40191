import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { openCertificateAuthority } from "../../adapters/certificates/certificate-authority.ts";
import { createLeafIssuer } from "../../adapters/certificates/leaf-issuer.ts";
import { memoryLimits, withMemoryLimits } from "../../core/operations/install/memory-limits.ts";
import { installProgram, isBuilt } from "../installed-program.ts";
import type { Route } from "./load.ts";
import { residentMiB } from "./process-figures.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The provider that a contender relays to, and a folder for the contender's files. */
export interface Provider {
  port: number;
  /** The authority that issued the provider's certificate for `localhost`, PEM. */
  caFile: string;
  certFile: string;
  keyFile: string;
  folder: string;
}

export interface Contender {
  name: string;
  version: string;
  route: Route;
  /** The process that relays, or null for none. */
  pid: number | null;
  stop(): Promise<void>;
}

/** Starts the benchmark's provider with its own certificate. */
export async function openProvider(folder: string): Promise<Provider & { stop(): void }> {
  const now = Date.now();
  const authority = openCertificateAuthority({
    directory: `${folder}/provider-ca`,
    hosts: ["localhost"],
    now,
  });
  const leaf = createLeafIssuer(authority).issue("localhost", now);
  const certFile = `${folder}/provider.pem`;
  const keyFile = `${folder}/provider-key.pem`;
  writeFileSync(certFile, leaf.certificatePem);
  writeFileSync(keyFile, leaf.keyPem);
  const server = fork(here("./provider.ts"), [certFile, keyFile]);
  const [{ port }] = (await once(server, "message")) as [{ port: number }];
  const stop = () => void server.kill();
  return { port, folder, caFile: authority.certificatePath, certFile, keyFile, stop };
}

/** Makes the provider seem far away, at a distance of `roundTripMs` from every contender. */
export async function openFarProvider(
  provider: Provider,
  roundTripMs: number,
): Promise<Provider & { stop(): void }> {
  const relay = fork(here("./delay.ts"), [`${provider.port}`, `${roundTripMs / 2}`]);
  const [{ port }] = (await once(relay, "message")) as [{ port: number }];
  return { ...provider, port, stop: () => void relay.kill() };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Ends a process, by force after 5 s. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill("SIGTERM");
    const force = setTimeout(() => child.kill("SIGKILL"), 5000);
    await once(child, "exit");
    clearTimeout(force);
  }
}

/** Waits until the port accepts connections, because not every peer reports when it is ready. */
async function waitUntilListening(port: number): Promise<void> {
  const { connect } = await import("node:net");
  for (let tries = 0; tries < 300; tries += 1) {
    const socket = connect(port, "127.0.0.1");
    const up = await new Promise<boolean>((resolve) =>
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false)),
    );
    socket.destroy();
    if (up) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`nothing listens on port ${port}`);
}

/** Returns the output of a program, or null if it is not installed. */
function outputOf(program: string, ...args: string[]): string | null {
  try {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch {
    return null;
  }
}

const host = "localhost";

export async function direct(provider: Provider): Promise<Contender> {
  const route = { host, port: provider.port, proxyPort: null, caFiles: [provider.caFile] };
  return { name: "direct", version: "", route, pid: null, stop: async () => {} };
}

/**
 * A relay with TLS on both sides and keep-alive to the upstream, with one worker. It parses no bodies and records nothing.
 */
export async function nginx(provider: Provider): Promise<Contender | null> {
  if (outputOf("/usr/sbin/nginx", "-v") === null) return null;
  const folder = `${provider.folder}/nginx`;
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  writeFileSync(
    `${folder}/nginx.conf`,
    `daemon off; master_process off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 8192; }
http {
  access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f;
  uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s; client_max_body_size 0; keepalive_requests 1000000000;
  upstream provider { server 127.0.0.1:${provider.port}; keepalive 1100; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} ssl backlog=4096; tcp_nodelay on;
    ssl_certificate ${provider.certFile}; ssl_certificate_key ${provider.keyFile};
    location / {
      proxy_pass https://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 600s; proxy_ssl_session_reuse on;
      proxy_ssl_verify on; proxy_ssl_trusted_certificate ${provider.caFile}; proxy_ssl_name ${host}; proxy_ssl_server_name on;
    }
  }
}`,
  );
  const child = spawn("/usr/sbin/nginx", ["-c", `${folder}/nginx.conf`, "-p", folder], { stdio: "inherit" });
  await waitUntilListening(port);
  const version = (
    execFileSync("/bin/sh", ["-c", "/usr/sbin/nginx -v 2>&1"], { encoding: "utf8" }).split("/")[1] ?? ""
  ).trim();
  const route = { host, port, proxyPort: null, caFiles: [provider.caFile] };
  return { name: "nginx", version, route, pid: child.pid as number, stop: () => end(child) };
}

/** How the meter's start differs from the usual one. */
interface MeterOptions {
  /** Whether there is a blocking budget with ample room. */
  readonly hasBudget?: boolean;
  hasMemoryLimits?: boolean;
  /** Stops the main thread repeatedly for this long; 0 for never. */
  stallSeconds?: number;
}

/**
 * The complete meter as a user runs it: calls are parsed, priced and stored. Runs the output of `npm run build`, or the
 * sources if there is none. The sources take 45 MiB more, most of it for stripping types in each thread.
 */
export async function meter(provider: Provider, options: MeterOptions = {}): Promise<Contender> {
  const { hasMemoryLimits = true, stallSeconds = 0, hasBudget = false } = options;
  const home = `${provider.folder}/meter-home${hasBudget ? "-budget" : ""}`;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const [proxyPort, apiPort] = [await freePort(), await freePort()];
  writeFileSync(
    `${home}/config.toml`,
    `[proxy]\nport = ${proxyPort}\nextra_ca = ${JSON.stringify(provider.caFile)}\n[api]\nport = ${apiPort}\n` +
      `[[providers]]\nhost = "${host}"\nport = ${provider.port}\nprovider = "anthropic"\napi = "anthropic"\n` +
      (hasBudget ? '[[budget]]\nname = "month"\namount = "1000000 USD"\nat_limit = "block"\n' : ""),
  );
  const installed = isBuilt() ? installProgram() : null;
  const program = installed?.program ?? here("../../cli/bin.js");
  const preload = stallSeconds > 0 ? ["--import", here("./stall-main-thread.ts")] : [];
  const child = spawn(process.execPath, [...preload, program, "start", "--foreground"], {
    env: {
      ...process.env,
      // 0 is glibc's default. If a variable is set, the daemon does not set the limits itself.
      ...(hasMemoryLimits ? memoryLimits : { MALLOC_ARENA_MAX: "0" }),
      METER_HOME: home,
      BENCH_STALL_SECONDS: String(stallSeconds),
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  await waitUntilListening(proxyPort);
  const caFile = `${home}/ca/ca.pem`;
  if (!existsSync(caFile)) throw new Error(`no authority at ${caFile}`);
  const manifest = JSON.parse(readFileSync(here("../../package.json"), "utf8")) as { version: string };
  const version = `${manifest.version}${installed === null ? " from sources" : ""}`;
  const route = { host, port: provider.port, proxyPort, caFiles: [provider.caFile, caFile] };
  const stop = async () => {
    await end(child);
    installed?.remove();
  };
  return { name: hasBudget ? "meter, budget" : "meter", version, route, pid: child.pid as number, stop };
}

/** Returns the resident memory of the smallest program with the meter's threads, in MiB: the floor of the meter's memory. */
export async function bareThreadsMiB(): Promise<number> {
  const child = fork(here("./peers/bare-threads.js"), { env: withMemoryLimits(process.env) });
  await once(child, "message");
  try {
    return residentMiB(child.pid as number);
  } finally {
    await end(child);
  }
}

/** Starts the smallest program that has the meter's processes and forwards calls: the floor of the meter's memory. */
export async function bareProcesses(provider: Provider): Promise<Contender> {
  const port = await freePort();
  const { caFile, certFile, keyFile } = provider;
  const child = fork(here("./peers/bare-processes.js"), [String(port), caFile, certFile, keyFile], {
    env: withMemoryLimits(process.env),
  });
  await once(child, "message");
  const route = { host, port: provider.port, proxyPort: port, caFiles: [caFile] };
  const stop = () => end(child);
  return { name: "bare processes", version: process.version, route, pid: child.pid as number, stop };
}

async function nodePackage(name: string, script: string, provider: Provider): Promise<Contender | null> {
  const manifest = here(`../node_modules/${name}/package.json`);
  if (!existsSync(manifest)) return null;
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  return nodePeer(name, version, script, provider);
}

async function nodePeer(
  name: string,
  version: string,
  script: string,
  provider: Provider,
): Promise<Contender> {
  const folder = `${provider.folder}/${name}`;
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const child = spawn(process.execPath, [here(script), String(port), folder, provider.caFile], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: { ...process.env, NODE_EXTRA_CA_CERTS: provider.caFile },
  });
  const [{ caFile }] = (await once(child, "message")) as [{ caFile: string }];
  await waitUntilListening(port);
  const route = { host, port: provider.port, proxyPort: port, caFiles: [provider.caFile, caFile] };
  return { name, version, route, pid: child.pid as number, stop: () => end(child) };
}

export const bareTap = (provider: Provider) =>
  nodePeer("bare tap", process.version, "./peers/bare-tap.ts", provider);
export const httpMitmProxy = (provider: Provider) =>
  nodePackage("http-mitm-proxy", "./peers/http-mitm-proxy.ts", provider);
export const mockttp = (provider: Provider) => nodePackage("mockttp", "./peers/mockttp.ts", provider);

export async function mitmproxy(provider: Provider): Promise<Contender | null> {
  const version = outputOf("/usr/bin/mitmdump", "--version");
  if (version === null) return null;
  const folder = `${provider.folder}/mitmproxy`;
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const child = spawn(
    "/usr/bin/mitmdump",
    [
      ...["--listen-host", "127.0.0.1", "-p", String(port), "-q", "--set", `confdir=${folder}`],
      ...["--set", "stream_large_bodies=1m", "--set", `ssl_verify_upstream_trusted_ca=${provider.caFile}`],
      ...["--set", "flow_detail=0", "--set", "stream_websockets=true", "-s", here("./peers/stream-all.py")],
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  await waitUntilListening(port);
  const caFile = `${folder}/mitmproxy-ca-cert.pem`;
  const route = { host, port: provider.port, proxyPort: port, caFiles: [provider.caFile, caFile] };
  return {
    name: "mitmproxy",
    version: /Mitmproxy: (\S+)/.exec(version)?.[1] ?? "",
    route,
    pid: child.pid as number,
    stop: () => end(child),
  };
}
