import type { CallQuestion, PassedUses } from "./call-question.ts";
import type { FromWorker } from "./worker-messages.ts";

/**
 * How much of a body is sent with its question, in bytes. It fits into the buffer of a socket between two processes, so it arrives at once.
 * The rest follows. Most clients state the model in it.
 */
export const QUESTION_BODY_BYTES = 65_536;

/** Calls back with the rest of a body, now or once it has arrived. */
export type RestOfBody = (use: (bytes: Uint8Array) => void) => void;

/** Returns the messages of a question: with the start of a long body, and with its rest. */
export function divideQuestion(
  id: number,
  question: CallQuestion,
  passed: PassedUses | null,
): readonly FromWorker[] {
  const { body } = question;
  const hasRest = body.length > QUESTION_BODY_BYTES;
  if (!hasRest) return [{ kind: "question", id, question, passed, hasRest }];
  // A message to a thread has all of a view's memory, so these are copies.
  const [start, rest] = [
    Uint8Array.from(body.subarray(0, QUESTION_BODY_BYTES)),
    body.subarray(QUESTION_BODY_BYTES),
  ];
  return [
    { kind: "question", id, question: { ...question, body: start }, passed, hasRest },
    { kind: "question_rest", id, bytes: Uint8Array.from(rest) },
  ];
}

/** The rests of bodies that have not arrived yet. */
export interface ExpectedRests {
  /** Returns the rest of the question's body, which may be read later. */
  expect(id: number): RestOfBody;
  arrived(id: number, bytes: Uint8Array): void;
}

/** Creates the rests of one relay. */
export function createExpectedRests(): ExpectedRests {
  const missing = new Map<number, (bytes: Uint8Array) => void>();
  return {
    expect(id) {
      let rest: Uint8Array | null = null;
      let use = (_: Uint8Array): void => {};
      missing.set(id, (bytes) => {
        rest = bytes;
        use(bytes);
      });
      return (next) => {
        if (rest === null) use = next;
        else next(rest);
      };
    },
    arrived(id, bytes) {
      const use = missing.get(id);
      missing.delete(id);
      use?.(bytes);
    },
  };
}
