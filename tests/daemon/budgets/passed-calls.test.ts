import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { boundCall } from "../../../core/budgets/bound/bound-call.ts";
import type { Budget } from "../../../core/budgets/budget.ts";
import { passRoom } from "../../../core/budgets/pass-room.ts";
import { readRequestHead } from "../../../core/metering/exchange/head.ts";
import { isUnreadable } from "../../../core/metering/exchange/unreadable.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import type { HeldCalls } from "../../../daemon/budgets/held-calls.ts";
import { createCallGate } from "../../../daemon/proxy/call-gate.ts";
import type { CallQuestion, GateAnswer } from "../../../daemon/proxy/call-question.ts";
import { budgetOf, createMemoryBudgets, createRigHeldCalls, prices } from "./held-calls.rig.ts";

/** A call whose bound grows with its output, which is most of it. */
function questionOf(connection: number, maxTokens: number): { question: CallQuestion; bound: bigint } {
  const body = Buffer.from(JSON.stringify({ model: "claude-opus-4-1", max_tokens: maxTokens, messages: [] }));
  const route = {
    api: "anthropic.messages",
    provider: "anthropic",
    model: null,
    requestKind: "chat",
  } as const;
  const bound = boundCall({ route, body, bodyBytes: body.length, at: Date.now() }, prices).costPicoUsd;
  assert.ok(bound !== null);
  const question: CallQuestion = {
    ...{ connection, request: 1, host: "localhost", port: 1, clientPort: 1, proxyUser: null },
    ...{ project: null, caller: null, isWhole: true, isTurn: false, body },
    head: Buffer.from("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nx-api-key: sk-ant-api03-x\r\n\r\n"),
  };
  return { question, bound };
}

const recordOf = (requestId: string, costPicoUsd: bigint) =>
  ({
    ...{ requestId, requestedAt: Date.now(), provider: "anthropic", model: "claude-opus-4-1", costPicoUsd },
    ...{ billingMode: "metered", project: "rig", client: null, blockedBy: null },
    tokens: {},
  }) as unknown as RequestRecord;

/** Returns the room that the relay sees, and how many calls it sees counted. */
function readPassMemory(heldCalls: HeldCalls) {
  const { passes } = heldCalls.gate() ?? assert.fail();
  const fields = new Int32Array(passes ?? assert.fail()).slice(0, 8);
  const [calls = 0, microUsd = 0, tokens = 0, counted = 0] = new Float64Array(fields.buffer);
  return { room: { calls, microUsd, tokens }, counted };
}

/**
 * The proxy's gate and the main thread with their messages in queues, so that a test chooses the order of everything that two threads
 * may do at once. Each call uses all of its bound.
 */
function openThreads(budget: Budget) {
  const budgets = createMemoryBudgets([budget]);
  const { heldCalls, read } = createRigHeldCalls(budgets, 1);
  /** What the main thread reads in order; and questions, which it reads as they arrive. */
  const log: (() => void)[] = [];
  let unflushed: (() => void)[] = [];
  const urgent: (() => void)[] = [];
  const answers: (() => void)[] = [];
  const unstored: RequestRecord[] = [];
  const underWay: { connection: number; bound: bigint }[] = [];
  const sums = { passed: 0, mostUncounted: 0, asked: 0, refused: 0, spent: 0n, largest: 0n };
  const flush = () => {
    log.push(...unflushed);
    unflushed = [];
  };
  const gate = createCallGate(
    { ...(heldCalls.gate() ?? assert.fail()), timeoutMs: 600_000 },
    { asked: 0, refused: 0, undecided: 0, early: 0 },
    (id, question, passed) => {
      const ask = () =>
        heldCalls.decide(question, (answer) => answers.push(() => gate.answered(id, answer)), passed);
      if (passed === null) return void urgent.push(ask);
      flush();
      log.push(ask);
    },
  );
  let connections = 0;
  const take = (queue: (() => void)[]) => () => queue.shift()?.();
  return {
    budgets,
    heldCalls,
    sums,
    begin(maxTokens: number) {
      connections += 1;
      const connection = connections;
      const { question, bound } = questionOf(connection, maxTokens);
      const send = () => {
        if (bound > sums.largest) sums.largest = bound;
        underWay.push({ connection, bound });
        unflushed.push(() => heldCalls.began(connection, 1));
        unflushed.push(() => read(question));
      };
      const head = readRequestHead(question.head);
      assert.ok(!isUnreadable(head));
      const boundOf = () =>
        gate.bound({ host: question.host, port: question.port, head, body: question.body });
      const pass = gate.pass({
        ...{ keptBytes: question.body.length, bound: boundOf, body: () => question.body },
      });
      if (pass !== null) {
        sums.passed += 1;
        sums.mostUncounted = Math.max(sums.mostUncounted, sums.passed - readPassMemory(heldCalls).counted);
        unflushed.push(() => heldCalls.passed(connection, 1, pass));
        return send();
      }
      sums.asked += 1;
      gate.ask(
        question,
        (answer: GateAnswer) => {
          if (answer.kind === "allow") return send();
          sums.refused += 1;
        },
        boundOf,
      );
    },
    /** The provider answers a call, or closes its connection without an answer. */
    end(at: number, isAnswered: boolean) {
      const [call] = underWay.splice(at % Math.max(1, underWay.length), 1);
      if (call === undefined) return;
      const { connection, bound } = call;
      unflushed.push(() => {
        if (!isAnswered) heldCalls.ended(connection, 1, null);
        else {
          const record = recordOf(`r${connection}`, bound);
          unstored.push(record);
          heldCalls.ended(connection, 1, record.requestId);
          heldCalls.ended(connection, 1, null);
        }
        heldCalls.closed(connection);
      });
      if (isAnswered) sums.spent += bound;
    },
    store() {
      const records = unstored.splice(0);
      budgets.book(records);
      heldCalls.stored(records);
    },
    /** The relay learns how the calls that were decided on are priced. */
    learn: () => gate.configure({ ...(heldCalls.gate() ?? assert.fail()), timeoutMs: 600_000 }),
    flush,
    readLog: take(log),
    readUrgent: take(urgent),
    readAnswer: take(answers),
    isIdle: () => [log, unflushed, urgent, answers, unstored, underWay].every(({ length }) => length === 0),
  };
}

type Threads = ReturnType<typeof openThreads>;

const steps: readonly ((threads: Threads, size: number) => void)[] = [
  (threads, size) => threads.begin(1 + size * 300),
  (threads, size) => threads.begin(1 + size * 300),
  (threads, size) => threads.end(size, size % 8 !== 0),
  (threads) => threads.store(),
  (threads) => threads.flush(),
  (threads) => threads.learn(),
  (threads) => threads.readLog(),
  (threads) => threads.readLog(),
  (threads) => threads.readUrgent(),
  (threads) => threads.readAnswer(),
];

function finish(threads: Threads): void {
  for (let round = 0; !threads.isIdle(); round += 1) {
    assert.ok(round < 10_000);
    threads.flush();
    threads.readLog();
    threads.readUrgent();
    threads.readAnswer();
    threads.end(0, true);
    threads.store();
  }
}

describe("calls that pass without a decision", () => {
  it("end above the amount by less than one call, in any order of what both threads do", () => {
    let passed = 0;
    let asked = 0;
    let mostUncounted = 0;
    const step = fc.tuple(fc.nat(steps.length - 1), fc.nat(99));
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.array(step, { minLength: 50, maxLength: 400 }),
        (dollars, order) => {
          const limit = BigInt(dollars) * 1_000_000_000_000n;
          const threads = openThreads(budgetOf({ limit }));
          for (const [which, size] of order) steps[which]?.(threads, size);
          finish(threads);
          const { sums, budgets, heldCalls } = threads;
          assert.ok(sums.spent < limit + sums.largest, `${sums.spent} of ${limit}, largest ${sums.largest}`);
          assert.deepEqual(budgets.state().calls, [], "no call is left in flight");
          assert.equal(budgets.state().budgets[0]?.sums[""]?.used ?? 0n, sums.spent);
          const { room, counted } = readPassMemory(heldCalls);
          assert.deepEqual(room, passRoom(budgets.state(), Date.now()));
          assert.equal(counted, sums.passed);
          mostUncounted = Math.max(mostUncounted, sums.mostUncounted);
          passed += sums.passed;
          asked += sums.asked;
        },
      ),
      { numRuns: 300 },
    );
    assert.ok(passed > 300 && asked > 1_000, `${passed} passed, ${asked} were asked about`);
    assert.ok(mostUncounted >= 5, `at most ${mostUncounted} were not counted at once`);
  });

  it("do not end above an amount of requests", () => {
    const threads = openThreads(budgetOf({ unit: "requests", limit: 40n }));
    for (let call = 0; call < 200; call += 1) {
      threads.begin(1);
      if (call % 3 === 0) threads.readUrgent();
      threads.readLog();
      threads.readAnswer();
    }
    assert.ok(threads.sums.passed >= 36);
    finish(threads);
    assert.equal(threads.budgets.state().budgets[0]?.sums[""]?.used, 40n);
    assert.equal(threads.sums.refused, 160);
  });

  it("free their room if the call becomes no record, its connection ends or the proxy's thread ends", () => {
    const { heldCalls } = openThreads(budgetOf());
    const counted = () => readPassMemory(heldCalls).counted;
    heldCalls.passed(1, 1, 1);
    heldCalls.began(1, 1);
    assert.equal(counted(), 0);
    heldCalls.ended(1, 1, null);
    assert.equal(counted(), 1);
    heldCalls.passed(2, 1, 2);
    heldCalls.closed(1);
    assert.equal(counted(), 1);
    heldCalls.closed(2);
    assert.equal(counted(), 2);
    heldCalls.passed(3, 1, 3);
    heldCalls.lost();
    const { passes } = heldCalls.gate() ?? assert.fail();
    assert.equal(counted(), 0);
    assert.ok(new Int32Array(passes ?? assert.fail()).slice(10).every((slot) => slot === 0));
  });
});
