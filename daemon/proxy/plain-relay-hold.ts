import { createChunkedBody } from "../../core/metering/exchange/chunked-body.ts";
import { requestFraming, requestsProtocolSwitch } from "../../core/metering/exchange/framing.ts";
import { headerValue } from "../../core/metering/exchange/head.ts";
import { startBodyWait } from "./body-wait.ts";
import { isHeld, MAX_HELD_BODY_BYTES } from "./call-gate.ts";
import {
  closeUpstream,
  type HeadItem,
  type HeldRequest,
  type PlainRelayState,
  type PlainUpstream,
} from "./plain-relay-state.ts";
import { logProject } from "./plain-relay-upstream.ts";
import { sendRefusal } from "./relay-context.ts";

/** Whether the request at the front of the queue may be sent now. `onProgress` is called when that may have changed. */
export function mayBeSent(
  relay: PlainRelayState,
  upstream: PlainUpstream,
  item: HeadItem,
  onProgress: () => void,
): boolean {
  const { head } = item;
  if (relay.held === null) {
    const isFree = relay.context.gate.config === null || upstream.relayLog === null;
    if (isFree || !isHeld(head, requestsProtocolSwitch(head))) return true;
    hold(relay, upstream, item, onProgress);
    return false;
  }
  if (relay.held.phase === "allowed") {
    relay.held = null;
    return true;
  }
  if (relay.held.phase === "refused") refuseWhenAnswered(relay, upstream, item, relay.held);
  return false;
}

/** Begins to hold the request, with what of its body is queued already. */
function hold(relay: PlainRelayState, upstream: PlainUpstream, item: HeadItem, onProgress: () => void): void {
  const raw = item.plan.upstreamHead(item.raw);
  const held: HeldRequest = {
    phase: "collecting",
    raw,
    body: [],
    bodyBytes: 0,
    chunked:
      requestFraming(item.head) === "chunked" ? createChunkedBody((bytes) => addBody(held, bytes)) : null,
    refusal: null,
    wait: null,
    cancel: () => {},
    ask: (isWhole) => ask(relay, upstream, item, held, isWhole, onProgress),
  };
  relay.held = held;
  held.wait = startBodyWait(() => held.ask(false));
  held.cancel = held.wait.end;
  if (headerValue(item.head.headers, "expect") !== null) return held.ask(false);
  const [first, ...queued] = relay.queue;
  if (first?.kind !== "head") return;
  for (const each of queued) {
    if (each.kind !== "bytes") return held.ask(true);
    takeBody(relay, each.bytes);
  }
  if (!relay.requestOpen) held.ask(true);
  else if (held.phase === "collecting") relay.client.resume();
}

function addBody(held: HeldRequest, bytes: Uint8Array): void {
  held.body.push(bytes.slice());
  held.bodyBytes += bytes.length;
}

/** Takes bytes of the held request's body, as on the wire. */
export function takeBody({ held }: PlainRelayState, bytes: Uint8Array): void {
  if (held?.phase !== "collecting") return;
  held.wait?.arrived();
  if (held.chunked === null) addBody(held, bytes);
  else held.chunked.read(bytes, 0);
  if (held.bodyBytes >= MAX_HELD_BODY_BYTES) held.ask(false);
}

function ask(
  relay: PlainRelayState,
  upstream: PlainUpstream,
  { plan }: HeadItem,
  held: HeldRequest,
  isWhole: boolean,
  onProgress: () => void,
): void {
  if (held.phase !== "collecting" || upstream.relayLog === null) return;
  held.cancel();
  held.phase = "asking";
  relay.client.pause();
  held.cancel = relay.context.gate.ask(
    {
      connection: upstream.relayLog.entry.id,
      request: upstream.requests + 1,
      host: plan.host,
      port: plan.port,
      clientPort: relay.client.remotePort ?? 0,
      proxyUser: plan.proxyUser,
      project: plan.project,
      caller: upstream.relayLog.caller,
      head: held.raw,
      body: Buffer.concat(held.body),
      isWhole,
      isTurn: false,
    },
    (answer) => {
      if (relay.done) return;
      held.cancel = () => {};
      held.phase = answer.kind === "allow" ? "allowed" : "refused";
      if (answer.kind === "refuse") held.refusal = answer;
      onProgress();
    },
  );
}

/** Answers instead of the provider once the responses to earlier requests are complete. */
function refuseWhenAnswered(
  relay: PlainRelayState,
  upstream: PlainUpstream,
  { plan }: HeadItem,
  { refusal, raw }: HeldRequest,
): void {
  if (refusal === null || (relay.pending.length > 0 && !relay.responsesLost)) return;
  const { relayLog } = upstream;
  const body = relay.queue.flatMap((item) => (item.kind === "bytes" ? [item.bytes] : []));
  if (relayLog !== null) {
    logProject(relayLog, plan);
    relayLog.blocked(refusal, [raw, ...body]);
  }
  relay.done = true;
  relay.stopWatch();
  closeUpstream(relay, "clean", null);
  sendRefusal(relay.client, refusal.answer);
}
