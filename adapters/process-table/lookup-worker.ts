/** The thread that reads procfs, so that the threads that relay bytes or serve requests are not blocked. */
import { type MessagePort, parentPort } from "node:worker_threads";
import { collectGarbageAtRest } from "../threads/collect-at-rest.ts";
import { flushCompileCacheLater } from "../threads/thread-compile-cache.ts";
import type { CallerAnswer } from "./caller-query.ts";
import { createLinuxCallers } from "./linux.ts";
import type { LookupRequest, LookupResponse } from "./lookup-port.ts";

if (parentPort === null) throw new Error("lookup-worker runs in a worker thread only");

/** Maximum pause between two batches, in milliseconds. */
const MAX_REST_MS = 100;

type Port = Pick<MessagePort, "postMessage">;

interface WaitingRequest {
  readonly port: Port;
  readonly request: LookupRequest;
}

flushCompileCacheLater();
collectGarbageAtRest();
const answer = createLinuxCallers();
let waiting: WaitingRequest[] = [];
let scheduled = false;

/**
 * Answers all waiting requests from one reading of the tables, then pauses for as long as that took, so that lookups use at
 * most half of a core. Requests that want no process are answered before processes are searched.
 */
function run(): void {
  const batch = waiting;
  waiting = [];
  const startedAtMs = performance.now();
  let usersPosted = false;
  const answers = answer(
    batch.flatMap(({ request }) => request.queries),
    (users) => {
      post(batch, users, false);
      usersPosted = true;
    },
  );
  if (!usersPosted) post(batch, answers, false);
  post(batch, answers, true);
  setTimeout(
    () => {
      scheduled = false;
      if (waiting.length > 0) schedule();
    },
    Math.min(MAX_REST_MS, performance.now() - startedAtMs),
  );
}

/** Sends the answers to the requests of a batch that want a process, or to the others. */
function post(
  batch: readonly WaitingRequest[],
  answers: readonly CallerAnswer[],
  wantProcess: boolean,
): void {
  let at = 0;
  for (const { port, request } of batch) {
    const end = at + request.queries.length;
    if (request.queries.some(({ wantsProcess }) => wantsProcess) === wantProcess)
      port.postMessage({ id: request.id, answers: answers.slice(at, end) } satisfies LookupResponse);
    at = end;
  }
}

/** Messages that have already arrived belong to the same batch. */
function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  setImmediate(run);
}

const take = (port: Port) => (message: LookupRequest | { readonly port: MessagePort }) => {
  if ("port" in message) {
    message.port.on("message", take(message.port));
    return;
  }
  waiting.push({ port, request: message });
  schedule();
};

parentPort.on("message", take(parentPort));
