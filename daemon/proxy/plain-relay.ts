import type { Socket } from "node:net";
import {
  asksToSwitch,
  createMessageReader,
  type MessageReader,
  type PendingRequest,
  type RequestHead,
  type UnreadableReason,
} from "../../core/exchange/mod.ts";
import { dialRefusal } from "./connect-request.ts";
import type { ParentProxy } from "./parent-proxy.ts";
import { isPlanRefused, planRequest, type RequestPlan } from "./plan-request.ts";
import {
  noteTunnel,
  openRelayLog,
  type Refusal,
  type RelayContext,
  type RelayLog,
  refuse,
} from "./relay-context.ts";
import { halfOpenMs, reset, resetAfterFlush, type TapSide, watchSilence } from "./tap.ts";
import type { CloseReason } from "./tap-frames.ts";

/** What is still to go upstream, in order. Bytes in here are copies. */
type Item =
  | {
      readonly kind: "head";
      readonly plan: RequestPlan;
      readonly head: RequestHead;
      readonly raw: Uint8Array;
    }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "refusal"; readonly refusal: Refusal }
  | { readonly kind: "end" };

interface Upstream {
  readonly key: string;
  readonly side: TapSide;
  readonly parent: ParentProxy | null;
  readonly relayLog: RelayLog | null;
  readonly responses: MessageReader;
}

/** The requests that a client sends in plain http, in absolute form or to the gateway. */
export interface PlainRelay {
  head(head: RequestHead, raw: Uint8Array, proxyUser: string | null): void;
  /** Bytes of a body as they stood on the wire, or what follows a switch of protocols. */
  bytes(bytes: Uint8Array): void;
  requestEnd(): void;
  /** The client's bytes can't be told apart into requests any more. */
  unreadable(reason: UnreadableReason): void;
  /** The proxy's own answer, once everything before it is answered. */
  refuse(refusal: Refusal): void;
  /** The client sends no more. */
  end(): void;
}

/**
 * Relays a client's requests with their heads rewritten and all else as it came. One upstream connection serves as
 * long as the requests go to one place; for another place it is closed, once it has answered all it was asked, and
 * the next is opened: order holds, and no upstream connection ever serves two clients.
 */
export function createPlainRelay(
  context: RelayContext,
  client: Socket,
  settleSwitch: (switched: boolean) => void,
): PlainRelay {
  const queue: Item[] = [];
  /** Requests whose responses are still to come, oldest first. */
  const pending: PendingRequest[] = [];
  let upstream: Upstream | null = null;
  let cancelDial: (() => void) | null = null;
  let requestOpen = false;
  let responseStarted = false;
  let responsesLost = false;
  let clientEnded = false;
  let upstreamEnded = false;
  let done = false;
  let stopWatch = () => {};

  const finish = (reason: CloseReason, code: string | null) => {
    if (done) return;
    done = true;
    stopWatch();
    cancelDial?.();
    upstream?.relayLog?.closed(reason, code);
    if (reason === "clean") {
      client.destroy();
      upstream?.side.stream.destroy();
    } else if (reason === "client_aborted") {
      client.destroy();
      if (upstream) reset(upstream.side);
    } else {
      upstream?.side.stream.destroy();
      client.resume();
      resetAfterFlush({ stream: client, transport: client });
    }
  };

  const refuseNow = (refusal: Refusal) => {
    done = true;
    stopWatch();
    if (upstream) drop(upstream, "clean", null);
    refuse(context, client, refusal);
  };

  /** Lets go of an upstream connection that owes no answer, or whose answer nobody wants. */
  const drop = (old: Upstream, reason: CloseReason, code: string | null) => {
    upstream = null;
    upstreamEnded = false;
    old.relayLog?.closed(reason, code);
    old.side.stream.removeAllListeners("data");
    old.side.stream.destroy();
  };

  const write = (to: Upstream, bytes: Uint8Array, logged: Uint8Array) => {
    to.side.stream.write(bytes);
    if (to.relayLog !== null) to.relayLog.log.data(to.relayLog.entry, "request", logged);
  };

  const sendHead = (to: Upstream, item: Item & { kind: "head" }) => {
    const { plan, head, raw } = item;
    pending.push({ method: head.method, asksToSwitch: asksToSwitch(head) });
    if (plan.project !== null && to.relayLog !== null) {
      to.relayLog.log.note({ kind: "labelled", connection: to.relayLog.entry.id, project: plan.project });
    }
    const logged = plan.upstreamHead(raw); // without a parent's credentials
    write(to, to.parent === null ? logged : plan.parentHead(raw, to.parent), logged);
  };

  /** Takes one item; false where it has to wait. */
  const take = (item: Item): boolean => {
    if (cancelDial !== null) return false;
    switch (item.kind) {
      case "head": {
        if (upstream !== null && upstream.key !== item.plan.key) {
          if (responsesLost) {
            finish("client_aborted", "UNREADABLE_RESPONSE");
            return true;
          }
          if (pending.length > 0) return false;
          drop(upstream, "clean", null);
        }
        if (upstream === null) {
          connect(item.plan);
          return false;
        }
        sendHead(upstream, item);
        return true;
      }
      case "bytes":
        if (upstream !== null) write(upstream, item.bytes, item.bytes);
        return true;
      case "refusal":
        if (pending.length > 0 && !responsesLost) return false;
        refuseNow(item.refusal);
        return true;
      case "end":
        clientEnded = true;
        if (upstream === null) finish("clean", null);
        else {
          upstream.relayLog?.log.ended(upstream.relayLog.entry, "request");
          upstream.side.stream.end();
        }
        return true;
    }
  };

  const pump = () => {
    while (!done && queue.length > 0 && take(queue[0] as Item)) queue.shift();
    if (!done && queue.length === 0 && !upstream?.side.stream.writableNeedDrain) client.resume();
  };

  const put = (item: Item, copy: () => Item) => {
    if (done) return;
    if (queue.length > 0 || !take(item)) queue.push(copy());
    if (!done && (queue.length > 0 || upstream?.side.stream.writableNeedDrain)) client.pause();
  };

  const connect = (plan: RequestPlan) => {
    const target = {
      host: plan.host,
      port: plan.port,
      clientPort: client.remotePort ?? 0,
      proxyUser: plan.proxyUser,
    };
    const openLog = () => openRelayLog(context, plan.mode, target, () => finish("clean", null));
    const failed = (reason: CloseReason, code: string, refusal: Refusal) => {
      cancelDial = null;
      const relayLog = isLogged(plan) ? openLog() : null;
      if (relayLog !== null) {
        // The request is known although it went nowhere: its head and what has come of its body.
        const [first, ...rest] = queue;
        if (first?.kind === "head") {
          if (plan.project !== null) {
            relayLog.log.note({ kind: "labelled", connection: relayLog.entry.id, project: plan.project });
          }
          relayLog.log.data(relayLog.entry, "request", plan.upstreamHead(first.raw));
        }
        for (const item of rest) {
          if (item.kind !== "bytes") break;
          relayLog.log.data(relayLog.entry, "request", item.bytes);
        }
        relayLog.closed(reason, code);
      }
      refuseNow(refusal);
    };
    const start = (side: TapSide, parent: ParentProxy | null) => {
      cancelDial = null;
      if (!isLogged(plan)) noteTunnel(context, target, "not_provider");
      adopt({
        key: plan.key,
        side,
        parent,
        relayLog: isLogged(plan) ? openLog() : null,
        responses: readResponses(),
      });
      pump();
    };
    cancelDial = context.dial(plan, plan.tls ? "tunnel" : "plain_http", (dialled) => {
      if (!dialled.ok) {
        if (dialled.reason === "forbidden_target") {
          cancelDial = null;
          return refuseNow(dialRefusal(plan, dialled));
        }
        return failed(dialled.reason, dialled.code, dialRefusal(plan, dialled));
      }
      if (!plan.tls) return start({ stream: dialled.socket, transport: dialled.transport }, dialled.parent);
      cancelDial = () => dialled.transport.destroy();
      context.upstreamTls.secure(dialled.socket, plan.host, plan.port, (secured) => {
        if (done) {
          if (secured.ok) secured.socket.destroy();
        } else if (secured.ok) start({ stream: secured.socket, transport: dialled.transport }, null);
        else {
          const text = `no trusted TLS connection to ${plan.host} (${secured.code})`;
          failed(secured.reason, secured.code, { status: 502, reason: "upstream_tls", text });
        }
      });
    });
  };

  const isLogged = (plan: RequestPlan) =>
    plan.mode === "gateway" || context.isProviderHost(plan.host, plan.port);

  const readResponses = () =>
    createMessageReader("response", {
      pendingRequest: () => pending[0] ?? null,
      started() {
        responseStarted = true;
      },
      informational() {
        responseStarted = false;
      },
      head() {
        if (pending[0]?.asksToSwitch) settleSwitch(false);
      },
      end() {
        pending.shift();
        responseStarted = false;
      },
      switched() {
        pending.shift();
        settleSwitch(true);
      },
      unreadable() {
        responsesLost = true;
        settleSwitch(true); // what was held back goes on unread
      },
    });

  const adopt = (fresh: Upstream) => {
    upstream = fresh;
    const { stream } = fresh.side;
    const { relayLog, responses } = fresh;
    stream.on("data", (bytes: Buffer) => {
      if (done) return;
      if (!client.write(bytes)) stream.pause();
      if (relayLog !== null) relayLog.log.data(relayLog.entry, "response", bytes);
      responses.push(bytes);
      if (queue.length > 0) pump();
    });
    stream.on("drain", () => {
      if (queue.length === 0) client.resume();
    });
    stream.on("end", () => {
      if (done || upstream !== fresh) return;
      relayLog?.log.ended(relayLog.entry, "response");
      responses.end();
      pending.length = 0;
      if (queue.length > 0) {
        drop(fresh, "clean", null); // the next request was waiting for this
        pump();
        return;
      }
      upstreamEnded = true;
      client.end();
      stopWatch();
      stopWatch = watchSilence(
        () => client.bytesRead,
        context.limits.lingerMs,
        () => finish("clean", null),
      );
    });
    const lost = (code: string | null) => {
      if (upstream !== fresh) return;
      if (clientEnded && upstreamEnded) return;
      finish("upstream_reset", code);
    };
    stream.on("error", (error: NodeJS.ErrnoException) => lost(error.code ?? null));
    stream.on("close", () => lost(null));
    if (stream.destroyed) lost(null);
  };

  client.on("drain", () => upstream?.side.stream.resume());
  client.on("error", (error: NodeJS.ErrnoException) => finish("client_aborted", error.code ?? null));
  client.on("close", () => finish(clientEnded && upstreamEnded ? "clean" : "client_aborted", null));

  return {
    head(head, raw, proxyUser) {
      requestOpen = true;
      const plan =
        head.method === "CONNECT"
          ? ({
              status: 400,
              reason: "malformed",
              text: "CONNECT has to be the first request",
            } satisfies Refusal)
          : planRequest(head, {
              gatewayRoutes: context.gatewayRoutes,
              gatewayHosts: context.gatewayHosts,
              proxyUser,
              takesProxyCredentials: context.proxyPassword !== null,
            });
      if (isPlanRefused(plan)) return this.refuse(plan);
      put({ kind: "head", plan, head, raw }, () => ({ kind: "head", plan, head, raw: raw.slice() }));
    },
    bytes(bytes) {
      put({ kind: "bytes", bytes }, () => ({ kind: "bytes", bytes: bytes.slice() }));
    },
    requestEnd() {
      requestOpen = false;
    },
    unreadable(reason) {
      const refusal: Refusal = {
        status: 400,
        reason: "malformed",
        text: `the request is ambiguous (${reason})`,
      };
      if (done || !requestOpen) return this.refuse(refusal);
      // In the middle of a body: the upstream must not take what came for a whole request.
      if (responseStarted || pending.length > 1) return finish("client_aborted", reason);
      cancelDial?.();
      cancelDial = null;
      queue.length = 0;
      if (upstream) {
        reset(upstream.side);
        drop(upstream, "client_aborted", reason);
      }
      refuseNow(refusal);
    },
    refuse(refusal) {
      put({ kind: "refusal", refusal }, () => ({ kind: "refusal", refusal }));
    },
    end() {
      put({ kind: "end" }, () => ({ kind: "end" }));
      if (done) return;
      // It may stand behind a request that is never answered.
      stopWatch();
      stopWatch = watchSilence(
        () => upstream?.side.stream.bytesRead ?? 0,
        halfOpenMs,
        () => finish("clean", null),
      );
    },
  };
}
