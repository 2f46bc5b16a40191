import type { MessagePort } from "node:worker_threads";
import type { CallerAnswer } from "./caller-query.ts";
import type { LinuxCallers } from "./linux.ts";
import type {
  LookupMessage,
  LookupPort,
  LookupRequest,
  LookupResponse,
  LookupSocketOffer,
} from "./lookup-port.ts";
import { awaitLookupProcess } from "./lookup-socket.ts";

/** Maximum pause between two batches, in milliseconds. */
const MAX_REST_MS = 100;

/** How long batches may take, beyond half of the time, before a pause follows, in milliseconds. A client waits during the pause. */
const BURST_MS = 100;

interface WaitingRequest {
  readonly port: LookupPort;
  readonly request: LookupRequest;
}

/**
 * Answers lookups in this thread, for its parent, for the ports that the parent sends, and for processes that ask through such a port for a
 * socket. When the parent asks to stop, calls `stop` and replies; the parent then terminates the thread.
 */
export function serveLookups(parent: MessagePort, answer: LinuxCallers, stop: () => void): void {
  let waiting: WaitingRequest[] = [];
  let scheduled = false;
  /** The time that batches took and that no pause has compensated yet, at the end of the last batch. */
  let owedMs = 0;
  let endedAtMs = 0;

  /**
   * Answers all waiting requests from one reading of the tables. After a burst it pauses for as long as lookups took, so that
   * they use at most half of a core. Requests that want no process are answered before processes are searched.
   */
  async function run(): Promise<void> {
    const batch = waiting;
    waiting = [];
    const startedAtMs = performance.now();
    let usersPosted = false;
    const answers = await answer(
      batch.flatMap(({ request }) => request.queries),
      (users) => {
        post(batch, users, false);
        usersPosted = true;
      },
    );
    if (!usersPosted) post(batch, answers, false);
    post(batch, answers, true);
    const restedMs = startedAtMs - endedAtMs;
    endedAtMs = performance.now();
    const allMs = Math.max(0, owedMs - restedMs) + endedAtMs - startedAtMs;
    owedMs = Math.min(allMs, BURST_MS + MAX_REST_MS);
    const pauseMs = Math.min(MAX_REST_MS, owedMs - BURST_MS);
    if (pauseMs > 0) setTimeout(resume, pauseMs);
    else resume();
  }

  function resume(): void {
    scheduled = false;
    if (waiting.length > 0) schedule();
  }

  /** Messages that have already arrived belong to the same batch. */
  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    setImmediate(run);
  }

  const listen = (port: LookupPort) => port.on("message", (message) => take(port, message as LookupMessage));
  const take = (port: LookupPort, message: LookupMessage) => {
    if ("port" in message) {
      listen(message.port);
    } else if ("wantsSocket" in message) {
      const offer = (socket: LookupSocketOffer["socket"]) =>
        port.postMessage({ socket } satisfies LookupSocketOffer);
      port.on("close", awaitLookupProcess(offer, listen));
    } else if ("stop" in message) {
      stop();
      port.postMessage("stopped");
    } else {
      waiting.push({ port, request: message });
      schedule();
    }
  };
  listen(parent);
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
