import { createFrameScanner } from "../../core/metering/exchange/frame-scanner.ts";
import type { ResponseHead } from "../../core/metering/exchange/head.ts";
import { readWebSocketExtensions } from "../../core/metering/exchange/websocket-extensions.ts";
import {
  createWebSocketReader,
  type WebSocketReader,
} from "../../core/metering/exchange/websocket-reader.ts";
import { compileMemberPaths, pickMembers } from "../../core/metering/usage/member-picker.ts";
import type { CreateMessageInflater } from "../../core/ports/message-inflater.ts";
import type { GateAnswer } from "./call-question.ts";
import type { CutOrder } from "./response-cut.ts";

/** The operations of a WebSocket whose turns are held. */
export interface TurnLink {
  readonly createInflater: CreateMessageInflater;
  /** Sends the client's bytes upstream, and logs them. */
  forward(bytes: Uint8Array): void;
  /** Asks for the decision on the turn with this number, from 1. */
  ask(turn: Uint8Array, number: number, done: (answer: GateAnswer) => void): () => void;
  /** Stops or continues reading the client. */
  hold(isHeld: boolean): void;
  /** Logs a turn that was not sent. */
  blocked(answer: GateAnswer & { kind: "refuse" }, held: readonly Uint8Array[]): void;
  /** Sends bytes to the client. */
  reply(bytes: Uint8Array): void;
  /** Closes both sides. */
  close(): void;
  /** Ends both sides in the middle of a turn, after these bytes to the client. */
  cut(order: CutOrder, bytes: Uint8Array): void;
}

/** The turns of a WebSocket's client, each of which is held until the decision on it. */
export interface HeldTurns {
  push(bytes: Uint8Array): void;
  /** Reads bytes of the upstream that were relayed: an answer may only follow a whole message. */
  response(bytes: Uint8Array): void;
  /** Ends the turn that is under way, and the socket with it, once a message has ended. */
  cut(order: CutOrder): void;
  stop(): void;
}

/** The largest message that is held, in bytes. A larger one is relayed without a decision. */
const MAX_TURN_BYTES = 8 * 1_048_576;

const TYPE = compileMemberPaths(["type"], 256);

interface TurnsState {
  readonly link: TurnLink;
  readonly reader: WebSocketReader;
  readonly client: ReturnType<typeof createFrameScanner>;
  readonly server: ReturnType<typeof createFrameScanner>;
  /** Whether the provider can't read later messages if one is missing, because messages share their compression. */
  readonly needsAllMessages: boolean;
  /** The frames of the message in progress, and bytes that were not scanned yet. */
  held: Uint8Array[];
  heldBytes: number;
  queue: Uint8Array[];
  /** The text message that has just been completed. */
  message: Buffer | null;
  turns: number;
  isAsking: boolean;
  isOpen: boolean;
  /** What is sent to the client after the message that is being relayed to it. */
  reply: Uint8Array | null;
  /** The order to end the turn that is under way with the reply. */
  cutOrder: CutOrder | null;
  cancel: () => void;
}

/** Holds the turns of an upgraded connection. Null if its messages can't be read; they are then relayed. */
export function createHeldTurns(link: TurnLink, head: ResponseHead): HeldTurns | null {
  const extensions = readWebSocketExtensions(head.headers);
  if (extensions.kind === "unknown") return null;
  const contextTakeover = extensions.kind === "deflate" && extensions.clientContextTakeover;
  const state: TurnsState = {
    link,
    reader: createWebSocketReader(
      {
        message(message) {
          if (message.kind === "text") state.message = Buffer.from(message.bytes);
        },
        closed() {},
        unreadable: () => relayAll(state),
      },
      {
        sender: "client",
        maxMessageBytes: MAX_TURN_BYTES,
        deflate:
          extensions.kind === "deflate"
            ? {
                contextTakeover,
                inflater: link.createInflater({ contextTakeover, maxBytes: MAX_TURN_BYTES }),
              }
            : null,
      },
    ),
    client: createFrameScanner(),
    server: createFrameScanner(),
    needsAllMessages: contextTakeover,
    held: [],
    heldBytes: 0,
    queue: [],
    message: null,
    turns: 0,
    isAsking: false,
    isOpen: false,
    reply: null,
    cutOrder: null,
    cancel: () => {},
  };
  return {
    push(bytes) {
      if (state.isOpen) return link.forward(bytes);
      state.queue.push(bytes);
      scanQueue(state);
    },
    response(bytes) {
      for (let at = 0; at < bytes.length; ) at = state.server.scan(bytes, at);
      replyBetweenMessages(state);
    },
    cut(order) {
      if (order.turn === null || state.cutOrder !== null) return;
      state.cutOrder = order;
      state.reply = toTextFrame(order.turn);
      replyBetweenMessages(state);
    },
    stop: () => state.cancel(),
  };
}

function scanQueue(state: TurnsState): void {
  const { link, client, reader, queue } = state;
  for (let bytes = queue[0]; bytes !== undefined && !state.isAsking && !state.isOpen; bytes = queue[0]) {
    const to = client.scan(bytes, 0);
    const piece = bytes.subarray(0, to);
    if (to === bytes.length) queue.shift();
    else queue[0] = bytes.subarray(to);
    state.held.push(piece);
    state.heldBytes += piece.length;
    reader.push(piece, 0);
    if (client.isAtMessageEnd) onMessage(state);
    else if (state.heldBytes > MAX_TURN_BYTES) relayAll(state);
  }
  if (state.isAsking) link.hold(true);
}

function onMessage(state: TurnsState): void {
  const { link, message } = state;
  state.message = null;
  if (message === null || !isTurn(message)) return sendHeld(state);
  state.turns += 1;
  state.isAsking = true;
  state.cancel = link.ask(message, state.turns, (answer) => {
    state.cancel = () => {};
    state.isAsking = false;
    if (answer.kind === "allow") sendHeld(state);
    else {
      link.blocked(answer, state.held);
      state.held = [];
      state.heldBytes = 0;
      state.reply = toTextFrame(answer.answer);
      replyBetweenMessages(state);
    }
    scanQueue(state);
    if (!state.isAsking) link.hold(false);
  });
}

const isTurn = (message: Buffer): boolean =>
  message.includes("response.create") && pickMembers(message, TYPE).string("type") === "response.create";

function sendHeld(state: TurnsState): void {
  for (const bytes of state.held) state.link.forward(bytes);
  state.held = [];
  state.heldBytes = 0;
}

/** Relays everything from now on. */
function relayAll(state: TurnsState): void {
  state.isOpen = true;
  sendHeld(state);
  for (const bytes of state.queue.splice(0)) state.link.forward(bytes);
}

function replyBetweenMessages(state: TurnsState): void {
  const { link, reply, server, cutOrder } = state;
  if (reply === null || !server.isAtMessageEnd) return;
  state.reply = null;
  if (cutOrder !== null) return link.cut(cutOrder, new Uint8Array([...reply, ...CLOSE_FRAME]));
  link.reply(reply);
  if (!state.needsAllMessages) return;
  state.isOpen = true;
  link.reply(CLOSE_FRAME);
  link.close();
}

/** Closed normally: 1000. */
const CLOSE_FRAME: Uint8Array = Uint8Array.of(0x88, 2, 0x03, 0xe8);

/** Formats a text message of a server: one frame, not masked, not compressed. */
function toTextFrame(text: Uint8Array): Uint8Array {
  const head =
    text.length < 126 ? [0x81, text.length] : [0x81, 126, (text.length >> 8) & 0xff, text.length & 0xff];
  return new Uint8Array([...head, ...text]);
}
