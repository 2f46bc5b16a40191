import process from "node:process";
import {
  MessageChannel,
  type MessagePort,
  parentPort,
  type Transferable,
  workerData,
} from "node:worker_threads";

/**
 * A message between a process and its parent, by `process.send()`: a message of the thread; the same with a port in its field
 * `port`; a message of that port; the end of that port; an error that ends the process.
 */
export type ProcessMessage =
  | readonly ["message", unknown]
  | readonly ["message_with_port", unknown, number]
  | readonly ["port_message", unknown, number]
  | readonly ["port_closed", null, number]
  | readonly ["error", string];

/** What a thread, or a process in its place, knows of its parent. */
export interface ThreadPort<Received, Sent> {
  /** Whether this is a process of its own, which shares no memory with its parent and gets copies of all messages. */
  readonly isProcess: boolean;
  readonly data: unknown;
  /** Resolves with the first message. Later ones wait for `listen()`. */
  readonly first: Promise<Received>;
  listen(handler: (message: Received) => void): void;
  post(message: Sent, transfer?: readonly Transferable[]): void;
  /** Posts a part of something large. A process lets other messages go first if many parts wait, and of these the urgent ones. */
  postPart(message: Sent, isUrgent: boolean): void;
  /** Lets this process continue when its parent ends. A thread can't. */
  outlive(): void;
}

/** Opens the port of this thread to its parent, or of this process if `startProcessThread()` started it. Call it once. */
export function openThreadPort<Received, Sent>(): ThreadPort<Received, Sent> {
  const first = Promise.withResolvers<Received>();
  const waiting: Received[] = [];
  let isFirst = true;
  let handler = (message: Received): void => void waiting.push(message);
  const receive = (message: Received) => {
    if (!isFirst) return handler(message);
    isFirst = false;
    first.resolve(message);
  };
  const common = {
    first: first.promise,
    listen(listener: (message: Received) => void) {
      handler = listener;
      for (const message of waiting.splice(0)) listener(message);
    },
  };
  const parent = parentPort;
  if (parent !== null) {
    parent.on("message", receive);
    return {
      ...common,
      isProcess: false,
      data: workerData,
      post: (message, transfer = []) => parent.postMessage(message, transfer),
      postPart: (message) => parent.postMessage(message),
      outlive() {},
    };
  }
  if (process.send === undefined)
    throw new Error("this module runs in a thread or a process of the meter only");
  const outlive = receiveFromParent(receive as (message: unknown) => void);
  const sendPart = createPartSender();
  return {
    ...common,
    isProcess: true,
    data: JSON.parse(process.argv[2] ?? "null"),
    post: (message) => sendToParent(["message", message]),
    postPart: (message, isUrgent) => sendPart(["message", message], isUrgent),
    outlive,
  };
}

/** Calls back once the message was written. A parent that has ended does not matter: `disconnect` follows. */
const sendToParent = (message: ProcessMessage, onWritten = () => {}) =>
  void process.send?.(message, undefined, {}, onWritten);

/** How many parts may be on their way at once: a large body that is alone arrives as if it were one message. */
const PARTS_AT_ONCE = 16;

/**
 * Returns the function that sends parts. Of many parts, it sends one in each turn of the event loop: if they filled the buffer of the
 * socket, other messages would wait for the next turn.
 */
function createPartSender(): (part: ProcessMessage, isUrgent: boolean) => void {
  const urgent: ProcessMessage[] = [];
  const others: ProcessMessage[] = [];
  let unwritten = 0;
  const send = (part: ProcessMessage) => {
    unwritten += 1;
    sendToParent(part, () => {
      unwritten -= 1;
      if (unwritten === 0) setImmediate(sendWaiting);
    });
  };
  const sendWaiting = () => {
    const part = urgent.shift() ?? others.shift();
    if (part !== undefined) send(part);
  };
  return (part, isUrgent) => {
    const areWaiting = urgent.length + others.length > 0;
    if (unwritten < PARTS_AT_ONCE && !areWaiting) send(part);
    else (isUrgent ? urgent : others).push(part);
  };
}

/** Receives the messages of the parent, and ends with it unless the returned function was called. */
function receiveFromParent(receive: (message: unknown) => void): () => void {
  const ports = new Map<number, MessagePort>();
  process.on("message", (message: ProcessMessage) => {
    const [kind, content, id] = message;
    if (kind === "message") receive(content);
    else if (kind === "message_with_port") {
      const { port1, port2 } = new MessageChannel();
      ports.set(id, port2);
      port2.on("message", (sent) => sendToParent(["port_message", sent, id]));
      receive({ ...(content as object), port: port1 });
    } else if (kind === "port_message") ports.get(id)?.postMessage(content);
    else if (kind === "port_closed") {
      ports.get(id)?.close();
      ports.delete(id);
    }
  });
  const end = () => process.exit();
  process.on("disconnect", end);
  // A terminal and a service manager send these to all processes. The parent decides when this one ends.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  process.on("uncaughtException", (error) => {
    process.send?.(["error", `${error.name}: ${error.message}`] satisfies ProcessMessage, undefined, {}, () =>
      process.exit(1),
    );
  });
  return () => void process.off("disconnect", end);
}
