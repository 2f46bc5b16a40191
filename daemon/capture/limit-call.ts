import {
  headerValue,
  pathOf,
  type RequestHead,
  type ResponseHead,
} from "../../core/metering/exchange/head.ts";
import { findLimitAnswer, type ReadLimitAnswer } from "../../core/metering/limits/answer-limits.ts";
import { type BodyDecoder, createBodyDecoder } from "./body-decoder.ts";
import type { MeteredCall } from "./metered-call.ts";
import type { CapturePorts } from "./ports.ts";
import { takeLimits } from "./read-limits.ts";

/** The longest response about limits that is read, in bytes. */
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Reads the response to a request about limits, such as Claude Code's `GET /api/oauth/usage`. Returns null for other
 * requests. It makes no record.
 */
export function createLimitCall(
  ports: CapturePorts,
  provider: string,
  request: RequestHead,
): MeteredCall | null {
  const path = pathOf(request.target);
  const read = ports.limits === undefined ? null : findLimitAnswer(provider, request.method, path);
  return read === null ? null : createAnswerCall(ports, provider, request, read);
}

function createAnswerCall(
  ports: CapturePorts,
  provider: string,
  request: RequestHead,
  read: ReadLimitAnswer,
): MeteredCall {
  const parts: Uint8Array[] = [];
  let size = 0;
  let answer: { readonly head: ResponseHead; readonly decoder: BodyDecoder } | null = null;
  return {
    requestBody() {},
    requestEnd() {},
    responseHead(head) {
      const deliver = (bytes: Uint8Array) => {
        size += bytes.length;
        // The bytes are valid only during this call.
        if (size <= MAX_ANSWER_BYTES) parts.push(bytes.slice());
      };
      const encoding = headerValue(head.headers, "content-encoding");
      answer = { head, decoder: createBodyDecoder(ports.createDecoder, encoding, deliver) };
    },
    responseBody: (bytes) => void answer?.decoder.push(bytes),
    end(end) {
      const { head, decoder } = answer ?? {};
      if (head === undefined || head.status !== 200 || end !== "complete") return;
      decoder?.end((readable) => {
        if (!readable || size > MAX_ANSWER_BYTES) return;
        takeLimits(ports, { provider, request, response: head }, (now) => read(parseJson(parts), now));
      });
    },
    upgrade: () => null,
    discard() {},
    progress: () => null,
  };
}

function parseJson(parts: readonly Uint8Array[]): unknown {
  const decoder = new TextDecoder();
  const text = parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
