import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CallQuestion } from "../../../daemon/proxy/call-question.ts";
import {
  createExpectedRests,
  divideQuestion,
  QUESTION_BODY_BYTES,
} from "../../../daemon/proxy/long-questions.ts";

const question = (body: Uint8Array): CallQuestion => ({
  ...{ connection: 1, request: 1, host: "localhost", port: 1, clientPort: 1, proxyUser: null, project: null },
  ...{ caller: null, head: Buffer.from("POST / HTTP/1.1\r\n\r\n"), body, isWhole: true, isTurn: false },
});

describe("divideQuestion()", () => {
  it("sends a short body with its question", () => {
    const short = question(Buffer.alloc(QUESTION_BODY_BYTES));
    assert.deepEqual(divideQuestion(7, short, null), [
      { kind: "question", id: 7, question: short, passed: null, hasRest: false },
    ]);
  });

  it("sends the rest of a longer body in a second message, in memory of its own", () => {
    const body = Buffer.from(Array.from({ length: QUESTION_BODY_BYTES + 3 }, (_, at) => at % 251));
    const [first, second, ...others] = divideQuestion(7, question(body), null);
    assert.ok(first?.kind === "question" && second?.kind === "question_rest");
    assert.deepEqual([first.hasRest, second.id, others], [true, 7, []]);
    assert.deepEqual(Buffer.concat([first.question.body, second.bytes]), body);
    assert.equal(first.question.body.buffer.byteLength, QUESTION_BODY_BYTES);
    assert.equal(second.bytes.buffer.byteLength, 3);
  });
});

describe("createExpectedRests()", () => {
  it("gives each question its rest, whether it is used before or after it arrives", () => {
    const rests = createExpectedRests();
    const [early, late] = [rests.expect(1), rests.expect(2)];
    const seen: string[] = [];
    const use = (name: string) => (bytes: Uint8Array) => void seen.push(`${name} ${bytes[0]}`);
    early(use("early"));
    rests.arrived(2, Uint8Array.of(2));
    assert.deepEqual(seen, []);
    rests.arrived(1, Uint8Array.of(1));
    late(use("late"));
    assert.deepEqual(seen, ["early 1", "late 2"]);
  });

  it("drops a rest that no question needs any more", () => {
    const rests = createExpectedRests();
    rests.expect(1);
    rests.arrived(1, Uint8Array.of(1));
    rests.arrived(1, Uint8Array.of(1));
  });
});
