import type { LookupAddress, LookupOptions } from "node:dns";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, type SecureContext } from "node:tls";
import { type Authority, formatAuthority } from "./authority.ts";
import { closeSocket, registerTlsStream } from "./close-socket.ts";
import { checkTarget, type ForbiddenTarget } from "./forbidden-targets.ts";
import { createLookupCache, type LookupCache } from "./lookup-cache.ts";
import { createDirectMatcher, type ParentProxies, type ParentProxy } from "./parent-proxy.ts";

/** The result of dialling. `socket` is paused and has an error listener. */
export type DialResult =
  | {
      readonly ok: true;
      readonly socket: Socket;
      readonly parent: ParentProxy | null;
    }
  | {
      readonly ok: false;
      readonly reason: "forbidden_target" | "upstream_unreachable";
      readonly code: string;
    };

/** How the upstream will be used: as a tunnel to the target, or for plain http, which a parent proxy expects in absolute form. */
export type DialPurpose = "tunnel" | "plain_http";

/** Whether the client is on this machine. A client on another machine reaches only public addresses. */
export type ClientLocation = "local" | "remote";

/** Connects to an upstream. Calls `done` once, asynchronously. The returned function cancels the dial. */
export type Dial = (
  target: Authority,
  purpose: DialPurpose,
  client: ClientLocation,
  done: (dialled: DialResult) => void,
) => () => void;

const maxResponseHeadBytes = 16_384;

/** A failure with a code: the system's, the parent proxy's, or why the target is forbidden. */
class DialError extends Error {
  code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

interface DialOptions {
  /** The daemon's ports. The proxy's port is added once it listens. */
  readonly ownPorts: ReadonlySet<number>;
  readonly parents: ParentProxies;
  /** Whether clients on other machines may reach the target although it is not public. */
  readonly isSharedTarget: (host: string, port: number) => boolean;
  readonly timeoutMs: number;
  readonly secureContext: SecureContext;
  /** Default: a cache of its own. */
  readonly lookups?: LookupCache;
}

/** One dial in progress. */
interface DialState {
  readonly target: Authority;
  readonly purpose: DialPurpose;
  readonly check: TargetCheck;
  readonly lookups: LookupCache;
  readonly secureContext: SecureContext;
  readonly done: (dialled: DialResult) => void;
  timer: NodeJS.Timeout;
  transport: Socket | null;
  settled: boolean;
}

export function createDial(options: DialOptions): Dial {
  const isDirect = createDirectMatcher(options.parents.noProxy);
  const lookups = options.lookups ?? createLookupCache();
  return (target, purpose, client, done) => {
    const publicOnly = client === "remote" && !options.isSharedTarget(target.host, target.port);
    const dial: DialState = {
      target,
      purpose,
      check: (address, port) => checkTarget(address, port, options.ownPorts, publicOnly),
      lookups,
      secureContext: options.secureContext,
      done,
      timer: setTimeout(() => failDial(dial, new DialError("ETIMEDOUT")), options.timeoutMs),
      transport: null,
      settled: false,
    };
    // A parent could reach our ports, or its own network, for the client.
    const needsCheck = publicOnly || options.ownPorts.has(target.port);
    startDial(
      dial,
      isDirect(target.host, target.port) ? null : parentFor(purpose, options.parents),
      needsCheck,
    );
    return () => {
      if (!dial.settled) settleDial(dial, null);
    };
  };
}

const parentFor = (purpose: DialPurpose, { https, http }: ParentProxies) =>
  purpose === "tunnel" ? https : http;

function startDial(dial: DialState, parent: ParentProxy | null, needsCheck: boolean): void {
  const { target, check } = dial;
  const problem = check(target.host, target.port);
  if (problem !== null) {
    process.nextTick(() => failDial(dial, new DialError(problem)));
  } else if (parent === null) {
    openSocket(dial, target, true, (socket) => settleDial(dial, { ok: true, socket, parent: null }));
  } else if (!needsCheck) {
    connectThroughParent(dial, parent);
  } else {
    createLookup(dial, target.port, true)(target.host, { all: true }, (error) => {
      if (dial.settled) return;
      if (error && forbiddenReasons.has((error as NodeJS.ErrnoException).code ?? "")) failDial(dial, error);
      else connectThroughParent(dial, parent);
    });
  }
}

/** Ends the dial, with null if it was cancelled. */
function settleDial(dial: DialState, dialled: DialResult | null): void {
  clearTimeout(dial.timer);
  dial.settled = true;
  if (dialled?.ok) return dial.done(dialled);
  if (dial.transport !== null) closeSocket(dial.transport);
  if (dialled) dial.done(dialled);
}

function failDial(dial: DialState, error: Error): void {
  if (dial.settled) return;
  const code = (error as NodeJS.ErrnoException).code ?? "UNKNOWN";
  const reason = forbiddenReasons.has(code) ? "forbidden_target" : "upstream_unreachable";
  settleDial(dial, { ok: false, reason, code });
}

/**
 * Connects to a host, to whichever of its addresses answers. If `guarded`, forbidden addresses are refused. If no remembered
 * address answers, the host is resolved again.
 */
function openSocket(
  dial: DialState,
  to: Authority,
  guarded: boolean,
  connected: (socket: Socket) => void,
): void {
  const { check, lookups } = dial;
  let wasCached = false;
  let isConnected = false;
  const socket = connect({
    host: to.host,
    port: to.port,
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
    autoSelectFamily: true,
    lookup: createLookup(dial, to.port, guarded, () => {
      wasCached = true;
    }),
  });
  dial.transport = socket;
  socket.on("error", (error: NodeJS.ErrnoException) => {
    if (dial.settled || isConnected || !wasCached || forbiddenReasons.has(error.code ?? ""))
      return failDial(dial, error);
    lookups.forget(to.host);
    openSocket(dial, to, guarded, connected);
  });
  socket.once("connect", () => {
    isConnected = true;
    if (dial.settled) return;
    // Also checks the connected address, in case it did not come from the guarded lookup.
    const problem = guarded ? check(socket.remoteAddress ?? "", to.port) : null;
    if (problem !== null) failDial(dial, new DialError(problem));
    else connected(socket);
  });
}

/** Connects through a parent proxy, over TLS for an `https://` proxy. */
function connectThroughParent(dial: DialState, parent: ParentProxy): void {
  openSocket(dial, parent, false, (socket) => {
    if (!parent.tls) return useParent(dial, parent, socket);
    const stream = connectTls({
      socket,
      secureContext: dial.secureContext,
      rejectUnauthorized: true, // explicit: the environment must not be able to turn it off
      ...(isIP(parent.host) === 0 ? { servername: parent.host } : { host: parent.host }),
    });
    registerTlsStream(socket, stream);
    stream.on("error", (error) => failDial(dial, error));
    stream.once("secureConnect", () => {
      if (!dial.settled) useParent(dial, parent, stream);
    });
  });
}

/** Uses a connected parent proxy, and requests a tunnel if the purpose requires one. */
function useParent(dial: DialState, parent: ParentProxy, stream: Socket): void {
  const ready = () => settleDial(dial, { ok: true, socket: stream, parent });
  if (dial.purpose === "plain_http") ready();
  else requestTunnel(stream, dial.target, parent, (error) => failDial(dial, error), ready);
}

const forbiddenReasons: ReadonlySet<string> = new Set<ForbiddenTarget>([
  "own_port",
  "metadata",
  "link_local",
  "unspecified",
  "loopback",
  "private",
]);

type TargetCheck = (address: string, port: number) => ForbiddenTarget | null;

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** Returns a lookup through the cache. If `guarded`, it fails if any of the host's addresses is forbidden. */
function createLookup(
  { check, lookups }: DialState,
  port: number,
  guarded: boolean,
  onCached: () => void = () => {},
) {
  return (hostname: string, options: LookupOptions, done: LookupCallback) => {
    lookups.lookup(hostname, options, (error, addresses, wasCached) => {
      if (error) return done(error, []);
      if (wasCached) onCached();
      for (const each of guarded ? addresses : []) {
        const problem = check(each.address, port);
        if (problem !== null) return done(new DialError(problem), []);
      }
      const [first] = addresses;
      if (options.all || first === undefined) done(null, [...addresses]);
      else done(null, first.address, first.family);
    });
  };
}

/** Sends CONNECT to a parent proxy and waits for a 2xx response. Bytes after the response head are put back. */
function requestTunnel(
  stream: Socket,
  target: Authority,
  parent: ParentProxy,
  fail: (error: Error) => void,
  ready: () => void,
): void {
  const authority = formatAuthority(target);
  const authorization =
    parent.authorization === null ? "" : `Proxy-Authorization: ${parent.authorization}\r\n`;
  let response = Buffer.alloc(0);
  const refuse = (code: string) => fail(new DialError(code));
  const onEnd = () => refuse("PARENT_PROXY_CLOSED");
  const onData = (bytes: Buffer) => {
    response = Buffer.concat([response, bytes]);
    const end = response.indexOf("\r\n\r\n");
    if (end === -1) {
      if (response.length > maxResponseHeadBytes) refuse("PARENT_PROXY_ANSWER");
      return;
    }
    stream.off("data", onData);
    stream.off("end", onEnd);
    stream.pause();
    const status = /^HTTP\/1\.[01] (\d{3})(?: |\r)/.exec(response.toString("latin1", 0, end + 1))?.[1];
    if (!status?.startsWith("2")) return refuse(status ? `PARENT_PROXY_${status}` : "PARENT_PROXY_ANSWER");
    if (response.length > end + 4) stream.unshift(response.subarray(end + 4));
    ready();
  };
  stream.on("data", onData);
  stream.once("end", onEnd);
  stream.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`);
}
