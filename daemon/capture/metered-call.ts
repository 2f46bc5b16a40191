import { headerValue, type RequestHead, type ResponseHead } from "../../core/exchange/mod.ts";
import {
  createUsageReader,
  type MeteredRoute,
  type RequestFacts,
  readRequest,
  type UsageReader,
  type UsageReport,
} from "../../core/usage/mod.ts";
import { uuidV7 } from "../../core/uuid.ts";
import { type BodyBuffer, createBodyBuffer, MAX_CAPTURED_BYTES } from "./body-buffer.ts";
import { type BodyLeg, createBodyLeg } from "./body-leg.ts";
import { captureBodies, type KeptLeg } from "./capture-bodies.ts";
import type { CapturePorts, ConnectionFacts } from "./ports.ts";
import { type CallEnd, toRecord } from "./to-record.ts";

/** One exchange that is worth a record, from its request head to its end. */
export interface MeteredCall {
  requestBody(bytes: Uint8Array): void;
  requestEnd(): void;
  responseHead(head: ResponseHead, atMs: number): void;
  responseBody(bytes: Uint8Array): void;
  end(end: CallEnd, atMs: number): void;
  /** Lets go of everything without a record. */
  discard(): void;
}

export interface CallStart {
  facts: ConnectionFacts;
  route: MeteredRoute;
  head: RequestHead;
  path: string;
  headerProject: string | null;
  startedAtMs: number;
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
  ports: CapturePorts,
  start: CallStart,
  settled: (cause: unknown) => void,
): MeteredCall {
  const { route, head, facts: connection } = start;
  const keepBodies = ports.bodies.wantedAnywhere();
  const request = createBodyBuffer(MAX_CAPTURED_BYTES);
  const requestLeg = createBodyLeg(
    ports.createDecoder,
    headerValue(head.headers, "content-encoding"),
    (bytes) => request.append(bytes),
  );
  let answer: Answer | null = null;
  let read: { facts: RequestFacts; promptHash: string | null } | null = null;
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
          const { canonicalPrompt, ...facts } = readRequest(route, request.bytes());
          const promptHash = canonicalPrompt === null ? null : ports.sha256Hex(canonicalPrompt);
          read = { facts: { ...facts, canonicalPrompt: null }, promptHash };
        }
        then();
      }),
    );
  }

  async function write(end: CallEnd, endedAtMs: number, report: UsageReport | null): Promise<void> {
    const attribution = await connection.attribution.attribute(start.headerProject);
    if (!open || read === null) return;
    const requestedAt = Math.trunc(ports.wallClockMs() - (ports.monotonicMs() - start.startedAtMs));
    const requestId = uuidV7(requestedAt, ports.randomBytes(10));
    const record = toRecord(
      {
        requestId,
        requestedAt,
        host: connection.host,
        method: head.method,
        path: start.path,
        route,
        ...read,
        startedAtMs: start.startedAtMs,
        response: answer,
        report,
        end,
        endedAtMs,
        attribution,
      },
      ports.prices(),
      ports.sha256Hex,
    );
    ports.records.add(record);
    ports.coverage.count(connection.host, "metered");
    if (!record.tokensComplete && record.errorClass === null) {
      ports.coverage.count(connection.host, "without_usage");
    }
    if (keepBodies && !attribution.bodyCaptureRefused && ports.bodies.wantedFor(attribution.project)) {
      captureBodies(
        {
          bodies: ports.bodies,
          log: ports.log,
          count: (what) => ports.coverage.count(connection.host, what),
        },
        { requestId, capturedAt: ports.wallClockMs() },
        keptLegs(),
      );
    }
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
        const body = keepBodies ? createBodyBuffer(MAX_CAPTURED_BYTES) : null;
        const reader = createUsageReader(route, {
          status: responseHead.status,
          contentType: headerValue(responseHead.headers, "content-type"),
          streaming: read?.facts.streaming ?? null,
        });
        const leg = createBodyLeg(
          ports.createDecoder,
          headerValue(responseHead.headers, "content-encoding"),
          (bytes) => {
            reader.push(bytes);
            body?.append(bytes);
          },
        );
        answer = { head: responseHead, atMs, reader, leg, body };
      }),
    responseBody: (bytes) => step(() => answer?.leg.push(bytes)),
    end: (end, atMs) =>
      step(() => {
        if (answer === null) finish(end, atMs, true);
        else answer.leg.end((readable) => step(() => finish(end, atMs, readable)));
      }),
    discard: () => settle(),
  };
}
