import { joinBytes } from "../../core/values/join-bytes.ts";
import type { CallQuestion, PassedUses } from "./call-question.ts";
import type { FromWorker } from "./worker-messages.ts";

/**
 * The largest body that is sent with its question, in bytes. A longer one follows in parts of this size, which fit into the buffer of a socket
 * between two processes, so the first one arrives at once. Most clients state the model in it.
 */
export const QUESTION_BODY_BYTES = 65_536;

/** Calls back with what the question lacks of its body, now or once it has arrived; and before with its first part, if there are several. */
export type RestOfBody = (use: (bytes: Uint8Array) => void, useStart?: (bytes: Uint8Array) => void) => void;

/** Returns the messages of a question: a long body follows it in parts. */
export function divideQuestion(
  id: number,
  question: CallQuestion,
  passed: PassedUses | null,
): readonly FromWorker[] {
  const { body } = question;
  const hasRest = body.length > QUESTION_BODY_BYTES;
  if (!hasRest) return [{ kind: "question", id, question, passed, hasRest }];
  const messages: FromWorker[] = [
    { kind: "question", id, question: { ...question, body: new Uint8Array() }, passed, hasRest },
  ];
  for (let from = 0; from < body.length; from += QUESTION_BODY_BYTES) {
    const end = from + QUESTION_BODY_BYTES;
    // A message to a thread has all of a view's memory, so this is a copy.
    const bytes = Uint8Array.from(body.subarray(from, end));
    messages.push({ kind: "question_part", id, bytes, isFirst: from === 0, isLast: end >= body.length });
  }
  return messages;
}

/** The bodies that have not arrived yet. */
export interface ExpectedRests {
  /** Returns the question's body, which may be read later. */
  expect(id: number): RestOfBody;
  arrived(id: number, part: Pick<QuestionPart, "bytes" | "isLast">): void;
}

type QuestionPart = FromWorker & { readonly kind: "question_part" };

interface ExpectedRest {
  readonly parts: Uint8Array[];
  hasArrived: boolean;
  use: (bytes: Uint8Array) => void;
  useStart: (bytes: Uint8Array) => void;
}

/** Creates the rests of one relay. */
export function createExpectedRests(): ExpectedRests {
  const missing = new Map<number, ExpectedRest>();
  return {
    expect(id) {
      const rest: ExpectedRest = { parts: [], hasArrived: false, use() {}, useStart() {} };
      missing.set(id, rest);
      return (use, useStart = () => {}) => {
        const [start] = rest.parts;
        if (start !== undefined) useStart(start);
        if (rest.hasArrived) use(joinBytes(rest.parts));
        Object.assign(rest, { use, useStart });
      };
    },
    arrived(id, { bytes, isLast }) {
      const rest = missing.get(id);
      if (rest === undefined) return;
      rest.parts.push(bytes);
      if (isLast) missing.delete(id);
      rest.hasArrived = isLast;
      if (rest.parts.length === 1) rest.useStart(bytes);
      if (isLast) rest.use(joinBytes(rest.parts));
    },
  };
}
