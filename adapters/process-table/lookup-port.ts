import type { MessagePort, Worker } from "node:worker_threads";
import type { AnswerBatch, CallerAnswer, CallerQuery } from "./caller-query.ts";

/** A message to the lookup thread. */
export interface LookupRequest {
  readonly id: number;
  readonly queries: readonly CallerQuery[];
}

/** What the lookup thread receives: a request, a port for requests of another thread, or the request to end its work. */
export type LookupMessage = LookupRequest | { readonly port: MessagePort } | { readonly stop: true };

/** A message from the lookup thread. */
export interface LookupResponse {
  readonly id: number;
  readonly answers: readonly CallerAnswer[];
}

/** Queries the lookup thread through a port. When the port closes, waiting and later batches reject. */
export function createPortBatch(port: MessagePort | Worker): AnswerBatch {
  const waiting = new Map<number, PromiseWithResolvers<readonly CallerAnswer[]>>();
  let lastId = 0;
  let closed = false;
  const fail = () => {
    closed = true;
    for (const { reject } of waiting.values()) reject(new Error("the lookup thread has exited"));
    waiting.clear();
  };
  port.on("message", ({ id, answers }: LookupResponse) => {
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
