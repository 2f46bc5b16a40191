import type { MessagePort } from "node:worker_threads";
import type { AnswerBatch, CallerAnswer, CallerQuery } from "./caller-query.ts";
import { connectToLookupThread, type LookupAddress } from "./lookup-socket.ts";

/** A message to the lookup thread. */
export interface LookupRequest {
  readonly id: number;
  readonly queries: readonly CallerQuery[];
}

/**
 * What the lookup thread receives: a request, a port for requests of another thread, the request for a socket of its own from a process,
 * or the request to end its work.
 */
export type LookupMessage =
  | LookupRequest
  | { readonly port: MessagePort }
  | { readonly wantsSocket: true }
  | { readonly stop: true };

/** A message from the lookup thread. */
export interface LookupResponse {
  readonly id: number;
  readonly answers: readonly CallerAnswer[];
}

/** The answer to a process that wants a socket. */
export interface LookupSocketOffer {
  readonly socket: LookupAddress;
}

/** One end of a channel to the lookup thread: a `MessagePort`, a `Worker` or a `LookupSocket`. */
export interface LookupPort {
  postMessage(message: unknown): void;
  on(event: string, listener: (message: unknown) => void): unknown;
  unref(): void;
}

/** Queries the lookup thread through a port. When the port closes, waiting and later batches reject. */
export function createPortBatch(port: LookupPort): AnswerBatch {
  const waiting = new Map<number, PromiseWithResolvers<readonly CallerAnswer[]>>();
  let lastId = 0;
  let closed = false;
  const fail = () => {
    closed = true;
    for (const { reject } of waiting.values()) reject(new Error("the lookup thread has exited"));
    waiting.clear();
  };
  port.on("message", (message) => {
    const { id, answers } = message as LookupResponse;
    waiting.get(id)?.resolve(answers);
    waiting.delete(id);
  });
  // A worker reports its end with `exit`, a port with `close`.
  port.on("exit", fail);
  port.on("close", fail);
  port.unref();
  return (queries) => {
    if (closed) return Promise.reject(new Error("the lookup thread has exited"));
    const response = Promise.withResolvers<readonly CallerAnswer[]>();
    lastId += 1;
    waiting.set(lastId, response);
    port.postMessage({ id: lastId, queries } satisfies LookupRequest);
    return response.promise;
  };
}

/**
 * Queries the lookup thread from another process: through a socket of its own, so that no answer waits for the thread that passes on the
 * messages of the port. The port is used until the socket is open, and after it has closed.
 */
export function createProcessBatch(port: MessagePort): AnswerBatch {
  const throughPort = createPortBatch(port);
  let batch = throughPort;
  port.on("message", (message: LookupResponse | LookupSocketOffer) => {
    if (!("socket" in message)) return;
    connectToLookupThread(message.socket, (socket) => {
      batch = createPortBatch(socket);
      port.on("close", () => socket.close());
      socket.on("close", () => {
        batch = throughPort;
      });
    });
  });
  port.unref();
  port.postMessage({ wantsSocket: true } satisfies LookupMessage);
  return (queries) => batch(queries);
}
