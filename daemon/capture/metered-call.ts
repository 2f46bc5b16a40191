import { headerValue, type ResponseHead } from "../../core/exchange/mod.ts";
import type { TokenCounter } from "../../core/ports/token-counter.ts";
import { createKeyFinder } from "../../core/usage/key-finder.ts";
import {
  createUsageReader,
  type MeteredRoute,
  readRequest,
  type UsageReader,
  type UsageReport,
} from "../../core/usage/mod.ts";
import { type BodyBuffer, createBodyBuffer, MAX_CAPTURED_BYTES } from "./body-buffer.ts";
import { type BodyLeg, createBodyLeg } from "./body-leg.ts";
import type { CallStart } from "./call-start.ts";
import { captureBodies, type KeptLeg } from "./capture-bodies.ts";
import { estimateReport } from "./estimate-report.ts";
import { type Recording, recordCall, type UnrecordedCall } from "./record-call.ts";
import type { CallEnd } from "./to-record.ts";
import { type BeginRecord, openWebSocketSession, type WebSocketSession } from "./websocket-session.ts";

/** One exchange that is worth a record, from its request head to its end. */
export interface MeteredCall {
  requestBody(bytes: Uint8Array): void;
  requestEnd(): void;
  responseHead(head: ResponseHead, atMs: number): void;
  responseBody(bytes: Uint8Array): void;
  end(end: CallEnd, atMs: number): void;
  /** The answer is a WebSocket: this call is none, but what passes on it may make some. Null where it can't be read. */
  upgrade(begin: BeginRecord): WebSocketSession | null;
  /** Lets go of everything without a record. */
  discard(): void;
}

interface Answer {
  head: ResponseHead;
  atMs: number;
  reader: UsageReader;
  leg: BodyLeg;
  body: BodyBuffer | null;
}

/** `settled` is called once: when the record was handed on, or with the cause when there will be none. */
export function createMeteredCall(
  recording: Recording,
  start: CallStart,
  settled: (cause: unknown) => void,
): MeteredCall {
  const { ports } = recording;
  const { route, head, facts: connection } = start;
  const keepBodies = ports.bodies.wantedAnywhere();
  const request = createBodyBuffer(MAX_CAPTURED_BYTES);
  const requestLeg = createBodyLeg(
    ports.createDecoder,
    headerValue(head.headers, "content-encoding"),
    (bytes) => step(() => request.append(bytes)),
  );
  let answer: Answer | null = null;
  let read: Pick<UnrecordedCall, "facts" | "promptHash" | "responseIsKept"> | null = null;
  let open = true;

  const settle = (cause: unknown = null) => {
    if (!open) return;
    open = false;
    settled(cause);
  };
  /** Runs a step unless the call is settled; a step that throws settles it. */
  const step = (action: () => void) => {
    if (!open) return;
    try {
      action();
    } catch (cause) {
      settle(cause);
    }
  };

  /** Ends the request's leg and goes on when its last byte is decoded; at once where that has happened. */
  function withRequestRead(then: () => void): void {
    requestLeg.end(() =>
      step(() => {
        if (read === null) {
          const body = request.bytes();
          const { canonicalPrompt, ...facts } = readRequest(route, body);
          const promptHash = canonicalPrompt === null ? null : ports.sha256Hex(canonicalPrompt);
          const responseIsKept = route.fetches === true || asksForBackground(route, body);
          read = { facts: { ...facts, canonicalPrompt: null }, promptHash, responseIsKept };
        }
        then();
      }),
    );
  }

  async function write(end: CallEnd, endedAtMs: number, report: UsageReport | null): Promise<void> {
    const attribution = await connection.attribution.attribute(start.headerProject);
    if (!open || read === null) return;
    const estimated = ports.tokenCounter === null ? report : await estimate(ports.tokenCounter, end, report);
    const record = await recordCall(
      recording,
      {
        host: connection.host,
        method: head.method,
        path: start.path,
        route,
        ...read,
        startedAtMs: start.startedAtMs,
        response: answer,
        end,
        endedAtMs,
        attribution,
      },
      estimated,
    );
    if (record === null) return;
    if (keepBodies && !attribution.bodyCaptureRefused && ports.bodies.wantedFor(attribution.project)) {
      captureBodies(
        {
          bodies: ports.bodies,
          log: ports.log,
          count: (what) => ports.coverage.count(connection.host, what),
        },
        { requestId: record.requestId, capturedAt: ports.wallClockMs() },
        keptLegs(),
      );
    }
  }

  async function estimate(counter: TokenCounter, end: CallEnd, report: UsageReport | null) {
    if (report === null) return null;
    return await estimateReport(counter, report, {
      model: report.model ?? read?.facts.requestedModel ?? "",
      requestKind: report.requestKind ?? route.requestKind,
      cut: end !== "complete",
      request: request.bytes(),
      answer: answer?.body?.bytes() ?? null,
    });
  }

  function keptLegs(): KeptLeg[] {
    const legs: KeptLeg[] = [
      { direction: "request", body: request, contentType: headerValue(head.headers, "content-type") },
    ];
    if (answer?.body) {
      legs.push({
        direction: "response",
        body: answer.body,
        contentType: headerValue(answer.head.headers, "content-type"),
      });
    }
    return legs;
  }

  function finish(end: CallEnd, atMs: number, readable: boolean): void {
    const report = answer === null ? null : answer.reader.end(end === "complete" && readable);
    withRequestRead(() => {
      write(end, atMs, report).then(
        () => settle(),
        (cause) => settle(cause),
      );
    });
  }

  return {
    requestBody: (bytes) => step(() => requestLeg.push(bytes)),
    requestEnd: () => withRequestRead(() => {}),
    responseHead: (responseHead, atMs) =>
      step(() => {
        const body = keepBodies || ports.tokenCounter !== null ? createBodyBuffer(MAX_CAPTURED_BYTES) : null;
        const reader = createUsageReader(route, {
          status: responseHead.status,
          contentType: headerValue(responseHead.headers, "content-type"),
          streaming: read?.facts.streaming ?? null,
          header: (name) => headerValue(responseHead.headers, name),
        });
        const leg = createBodyLeg(
          ports.createDecoder,
          headerValue(responseHead.headers, "content-encoding"),
          // A decoder delivers in turns of its own, where nobody else would catch what a reader throws.
          (bytes) =>
            step(() => {
              reader.push(bytes);
              body?.append(bytes);
            }),
        );
        answer = { head: responseHead, atMs, reader, leg, body };
      }),
    responseBody: (bytes) => step(() => answer?.leg.push(bytes)),
    end: (end, atMs) =>
      step(() => {
        if (answer === null) finish(end, atMs, true);
        else answer.leg.end((readable) => step(() => finish(end, atMs, readable)));
      }),
    upgrade(begin) {
      settle();
      return answer === null ? null : openWebSocketSession(recording, start, answer.head, begin);
    },
    discard: () => settle(),
  };
}

const findBackground = createKeyFinder(["background"]);

/** Whether the answer will be handed out again when it is asked for by its id. */
function asksForBackground(route: MeteredRoute, body: Uint8Array | null): boolean {
  return route.api === "openai.responses" && body !== null && findBackground(body) !== 0;
}
