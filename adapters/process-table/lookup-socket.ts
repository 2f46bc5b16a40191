import { randomBytes, timingSafeEqual } from "node:crypto";
import { EventEmitter } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** Bytes of a secret. */
const SECRET_BYTES = 32;

/** Maximum number of connections that have not sent the secret. Other users can connect to the name. */
const MAX_STRANGERS = 16;

/** Where the lookup thread waits for one process, and the secret that each end sends first. */
export interface LookupAddress {
  /** A name in Linux's abstract namespace, which other users can list and connect to. */
  readonly path: string;
  /** What the process sends, in hexadecimal. */
  readonly processSecret: string;
  /** What the thread sends: another user could take the name once the thread has ended. */
  readonly threadSecret: string;
}

/** Exchanges messages like a `MessagePort`, as lines of JSON on a socket. */
export class LookupSocket extends EventEmitter {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    let text = "";
    socket.on("data", (received: string) => {
      const lines = (text + received).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) this.emit("message", JSON.parse(line));
    });
    socket.on("close", () => this.emit("close"));
  }

  postMessage(message: unknown): void {
    this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  unref(): void {
    this.#socket.unref();
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Calls `then` once the other end has sent its secret, and closes a socket that sends anything else. */
function awaitSecret(socket: Socket, secret: string, then: () => void): void {
  let text = "";
  const onData = (received: string) => {
    text += received;
    if (text.length < secret.length) return;
    if (text.length > secret.length || !timingSafeEqual(Buffer.from(text, "latin1"), Buffer.from(secret)))
      return void socket.destroy();
    socket.off("data", onData);
    then();
  };
  socket.setEncoding("latin1").on("data", onData);
  socket.on("error", () => {}); // `close` follows
}

/**
 * Waits for one process. Calls `onOpen` with the address, and `onConnected` when the process has connected. Without abstract names, it
 * calls neither. The returned function ends the wait.
 */
export function awaitLookupProcess(
  onOpen: (address: LookupAddress) => void,
  onConnected: (socket: LookupSocket) => void,
): () => void {
  const secret = () => randomBytes(SECRET_BYTES).toString("hex");
  const path = `\0meter-lookup-${secret()}`;
  const address: LookupAddress = { path, processSecret: secret(), threadSecret: secret() };
  const strangers = new Set<Socket>();
  const end = () => {
    server.close();
    for (const stranger of strangers) stranger.destroy();
  };
  const server = createServer((socket) => {
    strangers.add(socket);
    socket.on("close", () => strangers.delete(socket));
    awaitSecret(socket, address.processSecret, () => {
      strangers.delete(socket);
      end();
      socket.setEncoding("utf8").write(address.threadSecret);
      onConnected(new LookupSocket(socket));
    });
  });
  server.maxConnections = MAX_STRANGERS;
  server.on("error", () => {});
  server.listen(path, () => onOpen(address)).unref();
  return end;
}

/** Connects this process to the lookup thread. Calls `onConnected` only if the thread answers with its secret. */
export function connectToLookupThread(
  { path, processSecret, threadSecret }: LookupAddress,
  onConnected: (socket: LookupSocket) => void,
): void {
  const socket = connect(path, () => socket.write(processSecret)).unref();
  awaitSecret(socket, threadSecret, () => onConnected(new LookupSocket(socket.setEncoding("utf8"))));
}
