import type { RestOfBody } from "./long-questions.ts";
import type { ProxyThread } from "./proxy-thread.ts";
import { readTapBatch, readTapEntry, type TapBatch } from "./tap-batch.ts";
import { tapClock } from "./tap-clock.ts";
import type { TapFrame } from "./tap-frames.ts";
import type { FromWorker } from "./worker-messages.ts";

/** A message that takes its turn in the log. */
type LoggedMessage =
  | Exclude<FromWorker, { kind: "ready" | "listen_failed" | "question" | "question_part" }>
  | ReceivedQuestion;

/** A question with the rest of its body; null: it has all of it. */
export type ReceivedQuestion = FromWorker & { kind: "question" } & { readonly rest: RestOfBody | null };

/** A message that is not a part of the log. */
export type RelayMessage = Exclude<LoggedMessage, { kind: "batch" | "announced" }>;

/** The receivers of what is read. */
interface RelayLogSink {
  /** Takes frames, whose bytes are valid only during the call. Never throws. */
  frames(frames: readonly TapFrame[]): void;
  /** Takes a message once the log before it was read. */
  message(relay: ProxyThread, message: RelayMessage): void;
}

/** Reads the log of a relay, and of those that replace it, with the messages in between. */
export interface RelayLogReader {
  /** What was read, for threads: bytes and batches. */
  readonly acknowledged: Int32Array<SharedArrayBuffer>;
  /** The greatest number of a connection. */
  lastConnection(): number;
  /** How many logged connections are open. */
  connections(): number;
  /** From now on, this relay's log is read. */
  begin(relay: ProxyThread): void;
  /** Reads a message, now or in a later turn of the event loop. */
  push(relay: ProxyThread, message: LoggedMessage): void;
  /** Reads what is left of a relay that has ended. */
  readRest(relay: ProxyThread): void;
  /** Reports the open connections as closed. */
  closeAll(): void;
}

interface ReaderState {
  readonly sink: RelayLogSink;
  readonly acknowledged: Int32Array<SharedArrayBuffer>;
  readonly open: Set<number>;
  /** Messages that were not read yet, oldest first. */
  readonly inbox: Received[];
  /** Set while a batch was read in this turn of the event loop. */
  turn: NodeJS.Immediate | null;
  relay: ProxyThread | null;
  lastConnection: number;
}

interface Received {
  readonly relay: ProxyThread;
  readonly message: LoggedMessage;
}

/** Creates the reader. */
export function createRelayLogReader(sink: RelayLogSink): RelayLogReader {
  const state: ReaderState = {
    sink,
    acknowledged: new Int32Array(new SharedArrayBuffer(8)),
    open: new Set(),
    inbox: [],
    turn: null,
    relay: null,
    lastConnection: 0,
  };
  return {
    acknowledged: state.acknowledged,
    lastConnection: () => state.lastConnection,
    connections: () => state.open.size,
    begin(relay) {
      state.acknowledged.fill(0);
      state.relay = relay;
    },
    push(relay, message) {
      state.inbox.push({ relay, message });
      if (state.turn === null) readInbox(state);
    },
    readRest(relay) {
      for (const each of state.inbox.splice(0)) while (!readMessage(state, each)) {}
      // What a process had written when it crashed.
      while (!readEntries(state, relay, Number.POSITIVE_INFINITY, 0)) {}
    },
    closeAll() {
      const atMs = tapClock();
      const frames = [...state.open].map(
        (connection): TapFrame => ({ kind: "closed", connection, atMs, reason: "proxy_lost", code: null }),
      );
      state.open.clear();
      if (frames.length > 0) sink.frames(frames);
    },
  };
}

/**
 * Reads the messages up to the next batch of the log, and the rest in later turns of the event loop. Node delivers up to a
 * thousand messages in one turn: that many batches would keep timers, the loopback API and V8's own tasks waiting for
 * seconds.
 */
function readInbox(state: ReaderState): void {
  state.turn = null;
  for (let next = state.inbox[0]; next !== undefined; next = state.inbox[0]) {
    const { kind } = next.message;
    const isLog = kind === "batch" || kind === "announced";
    if (isLog) state.turn = setImmediate(readInbox, state);
    if (readMessage(state, next)) state.inbox.shift();
    if (isLog) return;
  }
}

/** Reads a message. Returns false if a part of its log is left to read. */
function readMessage(state: ReaderState, { relay, message }: Received): boolean {
  if (message.kind === "announced") return readEntries(state, relay, message.through, 1);
  if (message.kind === "batch") readBatch(state, relay, message);
  else {
    // In case the last one could not be written: the relay would wait for it.
    if (message.kind === "pong") relay.log?.acknowledge(0, 0);
    state.sink.message(relay, message);
  }
  return true;
}

/** Reads a part of a process's log up to an entry, at whose end are so many announcements. Returns whether that end is reached. */
function readEntries(
  state: ReaderState,
  { log }: ProxyThread,
  through: number,
  announcements: number,
): boolean {
  const entries = log?.read(through) ?? [];
  const frames: TapFrame[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const read = readTapEntry(entry);
    for (const frame of read.notes) trackConnection(state, frame);
    frames.push(...read.frames);
    bytes += read.memoryBytes;
  }
  if (frames.length > 0) state.sink.frames(frames);
  const isDone = entries.length === 0 || log?.hasRead(through) === true;
  log?.acknowledge(bytes, isDone ? announcements : 0);
  return isDone;
}

function readBatch(state: ReaderState, relay: ProxyThread, batch: TapBatch): void {
  for (const frame of batch.notes) trackConnection(state, frame);
  state.sink.frames(readTapBatch(batch));
  if (relay.log !== undefined) relay.log.acknowledge(batch.memoryBytes, 1);
  else if (state.relay === relay) {
    Atomics.add(state.acknowledged, 0, batch.memoryBytes);
    Atomics.add(state.acknowledged, 1, 1);
  }
  if (batch.isReusable) relay.postMessage({ kind: "spent", buffer: batch.buffer }, [batch.buffer]);
}

function trackConnection(state: ReaderState, { connection, kind }: TapFrame): void {
  if (connection > state.lastConnection) state.lastConnection = connection;
  if (kind === "opened") state.open.add(connection);
  else if (kind === "closed") state.open.delete(connection);
}
