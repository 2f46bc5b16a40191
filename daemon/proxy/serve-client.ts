import type { Socket } from "node:net";
import { createMessageReader, type RequestHead } from "../../core/exchange/mod.ts";
import { serveConnect } from "./connect-request.ts";
import { createPlainRelay, type PlainRelay } from "./plain-relay.ts";
import { isSamePassword, readProxyUser } from "./proxy-authorization.ts";
import { type Refusal, type RelayContext, refuse } from "./relay-context.ts";

const missingCredentials: Refusal = {
  status: 407,
  reason: "proxy_authentication",
  text: "this proxy asks for a password",
};

/** Reads the first request of a client and serves it and all that follows. `onHead` is called when it is there. */
export function serveClient(context: RelayContext, client: Socket, onHead: () => void): void {
  let connectHead: RequestHead | null = null;
  let relay: PlainRelay | null = null;
  let refused = false;
  let awaitsHead = true;
  let headTimer: NodeJS.Timeout | null = null;
  const behindConnect: Uint8Array[] = [];

  const answer = (refusal: Refusal) => {
    if (refused) return;
    if (relay !== null) return relay.refuse(refusal);
    refused = true;
    stop();
    refuse(context, client, refusal);
  };

  const reader = createMessageReader("request", {
    started() {
      awaitsHead = true;
    },
    head(head, raw) {
      awaitsHead = false;
      const { user, password } = readProxyUser(head.headers);
      if (context.proxyPassword !== null && !isSamePassword(password, context.proxyPassword)) {
        reader.stop();
        return answer(missingCredentials);
      }
      if (relay === null && head.method === "CONNECT") {
        connectHead = head;
        return;
      }
      relay ??= createPlainRelay(context, client, (switched) => reader.settleSwitch(switched));
      relay.head(head, raw, user);
    },
    wire: (bytes) => relay?.bytes(bytes),
    end: () => relay?.requestEnd(),
    opaque(bytes) {
      if (relay !== null) relay.bytes(bytes);
      else behindConnect.push(bytes.slice());
    },
    unreadable(reason) {
      if (relay !== null) return relay.unreadable(reason);
      if (reason === "head_too_long") {
        return answer({ status: 431, reason: "head_too_large", text: "the request's head is too long" });
      }
      answer({ status: 400, reason: "malformed", text: `this is not an HTTP/1.1 request (${reason})` });
    },
  });

  const watchHead = () => {
    if (!awaitsHead) {
      if (headTimer !== null) clearTimeout(headTimer);
      headTimer = null;
    } else if (headTimer === null) {
      headTimer = setTimeout(() => {
        reader.stop();
        answer({ status: 408, reason: "head_timeout", text: "the request's head did not come in time" });
      }, context.limits.headTimeoutMs);
    }
  };

  const onData = (bytes: Buffer) => {
    const isFirst = client.bytesRead === bytes.length;
    if (isFirst && !startsLikeHttp(bytes)) {
      reader.stop();
      return answer({ status: 400, reason: "malformed", text: "this is not an HTTP/1.1 request" });
    }
    reader.push(bytes);
    if (refused) return;
    watchHead();
    if (!awaitsHead) onHead();
    if (connectHead === null) return;
    stop();
    client.pause();
    reader.settleSwitch(true);
    const user = readProxyUser(connectHead.headers).user;
    serveConnect(context, client, connectHead, Buffer.concat(behindConnect), user);
  };
  const onEnd = () => {
    if (relay === null) return client.destroy(); // half a head, or none: nobody waits for an answer
    reader.end();
    relay.end();
  };
  const stop = () => {
    if (headTimer !== null) clearTimeout(headTimer);
    headTimer = null;
    client.off("data", onData);
    client.off("end", onEnd);
    client.off("close", onClose);
  };
  const onClose = () => {
    if (headTimer !== null) clearTimeout(headTimer);
  };

  client.on("data", onData);
  client.on("end", onEnd);
  client.on("close", onClose);
  watchHead();
}

/** Whether the bytes could go on being a request line: method letters, or the empty lines that may stand before it. */
function startsLikeHttp(bytes: Buffer): boolean {
  const first = bytes[0] ?? 0;
  return first === 0x0d || first === 0x0a || (first > 0x20 && first < 0x7f);
}
