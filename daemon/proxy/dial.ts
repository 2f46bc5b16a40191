import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, type SecureContext } from "node:tls";
import { type Authority, formatAuthority } from "./authority.ts";
import { forbiddenTarget } from "./forbidden-targets.ts";
import type { ParentProxies, ParentProxy } from "./parent-proxy.ts";
import { createDirectMatcher } from "./parent-proxy.ts";

/** What came of dialling. `socket` is paused and has an error listener; `transport` is the TCP socket below it. */
export type Dialled =
  | {
      readonly ok: true;
      readonly socket: Socket;
      readonly transport: Socket;
      readonly parent: ParentProxy | null;
    }
  | {
      readonly ok: false;
      readonly reason: "forbidden_target" | "upstream_unreachable";
      readonly code: string;
    };

/** How the upstream will be used: as a tunnel to the target, or for plain http, where a parent wants absolute form. */
export type DialPurpose = "tunnel" | "plain_http";

/** Connects to upstreams. `done` is called exactly once, later, unless the returned function is called before. */
export type Dial = (target: Authority, purpose: DialPurpose, done: (dialled: Dialled) => void) => () => void;

const maxAnswerBytes = 16_384;

/** A failure with a word for it: of the system's kind, the parent proxy's, or why the target is forbidden. */
class DialError extends Error {
  code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** Makes the dialler. `ownPorts` may still grow: the proxy's own port is known only once it listens. */
export function createDial(options: {
  readonly ownPorts: ReadonlySet<number>;
  readonly parents: ParentProxies;
  readonly timeoutMs: number;
  readonly secureContext: SecureContext;
}): Dial {
  const { ownPorts, parents, timeoutMs, secureContext } = options;
  const isDirect = createDirectMatcher(parents.noProxy);

  return (target, purpose, done) => {
    let transport: Socket | null = null;
    let inner: Socket | null = null;
    const settle = (dialled: Dialled | null) => {
      clearTimeout(timer);
      settled = true;
      if (dialled?.ok) return done(dialled);
      inner?.destroy();
      transport?.destroy();
      if (dialled) done(dialled);
    };
    let settled = false;
    const fail = (error: Error) => {
      if (settled) return;
      const code = (error as NodeJS.ErrnoException).code ?? "UNKNOWN";
      settle({
        ok: false,
        reason: forbiddenCodes.has(code) ? "forbidden_target" : "upstream_unreachable",
        code,
      });
    };
    const timer = setTimeout(() => fail(new DialError("ETIMEDOUT")), timeoutMs);

    const literal = forbiddenTarget(target.host, target.port, ownPorts);
    const chosen = isDirect(target.host, target.port)
      ? null
      : purpose === "tunnel"
        ? parents.https
        : parents.http;

    const open = (to: Authority, guarded: boolean, connected: (socket: Socket) => void) => {
      const socket = connect({
        host: to.host,
        port: to.port,
        allowHalfOpen: true,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: 60_000,
        autoSelectFamily: true,
        ...(guarded && { lookup: guardedLookup(to.port, ownPorts) }),
      });
      transport = socket;
      socket.on("error", fail);
      socket.once("connect", () => {
        if (settled) return;
        // Once more on the address in use, whatever resolved it.
        const forbidden = guarded ? forbiddenTarget(socket.remoteAddress ?? "", to.port, ownPorts) : null;
        if (forbidden !== null) fail(new DialError(forbidden));
        else connected(socket);
      });
    };

    const openThrough = (parent: ParentProxy) =>
      open(parent, false, (socket) => {
        const ready = (stream: Socket) => {
          if (purpose === "plain_http") settle({ ok: true, socket: stream, transport: socket, parent });
          else
            askForTunnel(stream, target, parent, fail, () =>
              settle({ ok: true, socket: stream, transport: socket, parent }),
            );
        };
        if (!parent.tls) return ready(socket);
        const stream = connectTls({
          socket,
          secureContext,
          rejectUnauthorized: true, // explicit: the environment must not be able to turn it off
          ...(isIP(parent.host) === 0 ? { servername: parent.host } : { host: parent.host }),
        });
        inner = stream;
        stream.on("error", fail);
        stream.once("secureConnect", () => {
          if (!settled) ready(stream);
        });
      });

    if (literal !== null) {
      process.nextTick(() => fail(new DialError(literal)));
    } else if (chosen === null) {
      open(target, true, (socket) => settle({ ok: true, socket, transport: socket, parent: null }));
    } else if (!ownPorts.has(target.port)) {
      openThrough(chosen);
    } else {
      // A parent on this machine could reach our ports for the client: the name is looked up here first.
      guardedLookup(target.port, ownPorts)(target.host, { all: true }, (error) => {
        if (settled) return;
        if (error && forbiddenCodes.has((error as NodeJS.ErrnoException).code ?? "")) fail(error);
        else openThrough(chosen);
      });
    }
    return () => {
      if (!settled) settle(null);
    };
  };
}

const forbiddenCodes = new Set(["own_port", "link_local", "unspecified"]);

type LookupDone = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** A lookup that fails where one of the addresses is forbidden, so that no later attempt can use it. */
function guardedLookup(port: number, ownPorts: ReadonlySet<number>) {
  return (hostname: string, options: LookupOptions, done: LookupDone) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, []);
      for (const each of addresses) {
        const forbidden = forbiddenTarget(each.address, port, ownPorts);
        if (forbidden !== null) return done(new DialError(forbidden), []);
      }
      const [first] = addresses;
      if (options.all || first === undefined) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}

/** Sends CONNECT to a parent and waits for its 2xx. Bytes behind the answer's head are put back. */
function askForTunnel(
  stream: Socket,
  target: Authority,
  parent: ParentProxy,
  fail: (error: Error) => void,
  ready: () => void,
): void {
  const authority = formatAuthority(target);
  const authorization =
    parent.authorization === null ? "" : `Proxy-Authorization: ${parent.authorization}\r\n`;
  let answer = Buffer.alloc(0);
  const refuse = (code: string) => fail(new DialError(code));
  const onEnd = () => refuse("PARENT_PROXY_CLOSED");
  const onData = (bytes: Buffer) => {
    answer = Buffer.concat([answer, bytes]);
    const end = answer.indexOf("\r\n\r\n");
    if (end === -1) {
      if (answer.length > maxAnswerBytes) refuse("PARENT_PROXY_ANSWER");
      return;
    }
    stream.off("data", onData);
    stream.off("end", onEnd);
    stream.pause();
    const status = /^HTTP\/1\.[01] (\d{3})(?: |\r)/.exec(answer.toString("latin1", 0, end + 1))?.[1];
    if (!status?.startsWith("2")) return refuse(status ? `PARENT_PROXY_${status}` : "PARENT_PROXY_ANSWER");
    if (answer.length > end + 4) stream.unshift(answer.subarray(end + 4));
    ready();
  };
  stream.on("data", onData);
  stream.once("end", onEnd);
  stream.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`);
}
