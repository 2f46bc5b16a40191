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

  it("sends a longer body in parts after its question, each in memory of its own", () => {
    const body = Buffer.from(Array.from({ length: 2 * QUESTION_BODY_BYTES + 3 }, (_, at) => at % 251));
    const [first, ...others] = divideQuestion(7, question(body), null);
    assert.ok(first?.kind === "question");
    assert.deepEqual([first.hasRest, first.question.body.length], [true, 0]);
    const parts = others.map((each) => (each.kind === "question_part" ? each : assert.fail(each.kind)));
    assert.deepEqual(
      parts.map(({ id, isFirst, isLast, bytes }) => [id, isFirst, isLast, bytes.buffer.byteLength]),
      [
        [7, true, false, QUESTION_BODY_BYTES],
        [7, false, false, QUESTION_BODY_BYTES],
        [7, false, true, 3],
      ],
    );
    assert.deepEqual(Buffer.concat(parts.map(({ bytes }) => bytes)), body);
  });
});

describe("createExpectedRests()", () => {
  const part = (byte: number, isLast = true) => ({ bytes: Uint8Array.of(byte), isLast });

  it("gives each question its rest, whether it is used before or after it arrives", () => {
    const rests = createExpectedRests();
    const [early, late] = [rests.expect(1), rests.expect(2)];
    const seen: string[] = [];
    const use = (name: string) => (bytes: Uint8Array) => void seen.push(`${name} ${bytes[0]}`);
    early(use("early"));
    rests.arrived(2, part(2));
    assert.deepEqual(seen, []);
    rests.arrived(1, part(1));
    late(use("late"));
    assert.deepEqual(seen, ["early 1", "late 2"]);
  });

  it("joins the parts of a rest, and gives the first one as soon as it has arrived", () => {
    const rests = createExpectedRests();
    const seen: string[] = [];
    const read = (id: number) =>
      rests.expect(id)(
        (bytes) => void seen.push(`${id}: ${bytes.join(" ")}`),
        (bytes) => void seen.push(`start of ${id}: ${bytes.join(" ")}`),
      );
    read(1);
    for (const byte of [1, 2, 3]) {
      rests.arrived(1, part(byte, byte === 3));
      seen.push("");
    }
    assert.deepEqual(seen.splice(0), ["start of 1: 1", "", "", "1: 1 2 3", ""]);
    const late = rests.expect(2);
    for (const byte of [4, 5]) rests.arrived(2, part(byte, byte === 5));
    late(
      (bytes) => void seen.push(`2: ${bytes.join(" ")}`),
      (bytes) => void seen.push(`start of 2: ${bytes.join(" ")}`),
    );
    assert.deepEqual(seen, ["start of 2: 4", "2: 4 5"]);
  });

  it("drops a rest that no question needs any more", () => {
    const rests = createExpectedRests();
    rests.expect(1);
    rests.arrived(1, part(1));
    rests.arrived(1, part(1));
  });
});
