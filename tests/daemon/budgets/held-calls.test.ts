import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createZlibDecoder } from "../../../adapters/content-decoder/zlib.ts";
import type { Budget } from "../../../core/budgets/budget.ts";
import { RESERVATION_TIMEOUT_MS } from "../../../core/budgets/budget-machine.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { MAX_DECODED_BODY_BYTES, readBody } from "../../../daemon/budgets/describe-held-call.ts";
import type { CallQuestion, GateAnswer, PassedUses } from "../../../daemon/proxy/call-question.ts";
import type { RestOfBody } from "../../../daemon/proxy/long-questions.ts";
import { PASS_MEMORY_WORDS } from "../../../daemon/proxy/passes.ts";
import {
  budgetOf,
  createMemoryBudgets,
  createRigHeldCalls,
  createSlowHeldCalls,
  NO_USES,
  rigAttribution,
  storedAs,
  usesOf,
} from "./held-calls.rig.ts";

const body = { model: "claude-sonnet-4-5", max_tokens: 100, messages: [{ role: "user", content: "hello" }] };

function ask(
  more: Partial<CallQuestion> = {},
  path = "/v1/messages",
  headers = "x-api-key: sk-ant-api03-x\r\n",
): CallQuestion {
  return {
    connection: 1,
    request: 1,
    host: "localhost",
    port: 1,
    clientPort: 50_000,
    proxyUser: null,
    project: null,
    caller: null,
    head: Buffer.from(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`),
    body: Buffer.from(JSON.stringify(body)),
    isWhole: true,
    isTurn: false,
    ...more,
  };
}

function open(...list: Budget[]) {
  const budgets = createMemoryBudgets(list);
  const { heldCalls } = createRigHeldCalls(budgets, 1);
  const decide = (question: CallQuestion) =>
    new Promise<GateAnswer>((resolve) => heldCalls.decide(question, resolve));
  const inFlight = () => budgets.state().calls.map(({ id }) => id);
  return { budgets, heldCalls, decide, inFlight };
}

const textOf = (answer: GateAnswer) =>
  answer.kind === "refuse" ? Buffer.from(answer.answer).toString() : answer.kind;

describe("readBody()", () => {
  const read = (decoded: number, encoding: string | null) =>
    new Promise<Uint8Array | null>((resolve) => {
      const bytes = Buffer.alloc(decoded);
      const headers: [string, string][] = encoding === null ? [] : [["content-encoding", encoding]];
      const head = { method: "POST", target: "/", version: "HTTP/1.1", headers };
      const body = encoding === null ? bytes : gzipSync(bytes);
      readBody({ createDecoder: createZlibDecoder }, { body, isWhole: true }, head, resolve);
    });

  it("keeps no compressed body that becomes larger than the limit", async () => {
    assert.equal((await read(MAX_DECODED_BODY_BYTES, "gzip"))?.length, MAX_DECODED_BODY_BYTES);
    assert.equal(await read(MAX_DECODED_BODY_BYTES + 1, "gzip"), null);
    assert.equal((await read(MAX_DECODED_BODY_BYTES + 1, null))?.length, MAX_DECODED_BODY_BYTES + 1);
  });
});

describe("createHeldCalls()", () => {
  it("decides on samples before the first call, once, and counts none of them", () => {
    const budgets = createMemoryBudgets([budgetOf({ limit: 0n })]);
    const decisions: string[] = [];
    const { heldCalls } = createRigHeldCalls(
      {
        ...budgets,
        decide(call) {
          const decision = budgets.decide(call);
          decisions.push(`${call.facts.model} ${decision.kind}`);
          return decision;
        },
      },
      1,
    );
    const before = budgets.state();
    assert.notEqual(heldCalls.gate(), null);
    const count = decisions.length;
    assert.deepEqual([...new Set(decisions)], ["claude-sonnet-4-5 refuse", "gpt-5 refuse"]);
    assert.notEqual(heldCalls.gate(), null);
    assert.equal(decisions.length, count);
    assert.deepEqual(budgets.state(), before);
    assert.deepEqual(budgets.sent, []);
  });

  it("refuses a call that states an infinite limit if the budget is used up", async () => {
    const { decide } = open(budgetOf({ limit: 0n }));
    const infinite = Buffer.from(JSON.stringify(body).replace('"max_tokens":100', '"max_tokens":1e999'));
    assert.match(textOf(await decide(ask({ body: infinite }))), /^HTTP\/1\.1 429/);
  });

  it("admits a call with its bound, until its record is stored", async () => {
    const { budgets, heldCalls, decide, inFlight } = open(budgetOf());
    assert.deepEqual(await decide(ask()), { kind: "allow" });
    assert.deepEqual(inFlight(), ["1.1"]);
    assert.ok((budgets.state().budgets[0]?.sums[""]?.inFlight ?? 0n) > 0n);
    heldCalls.began(1, 1);
    heldCalls.closed(1);
    assert.deepEqual(inFlight(), ["1.1"]);
    heldCalls.ended(1, 1, "record");
    heldCalls.ended(1, 1, null);
    assert.deepEqual(inFlight(), ["1.1"]);
    heldCalls.stored([storedAs("other"), storedAs("record")]);
    assert.deepEqual(inFlight(), []);
    assert.equal(budgets.state().budgets[0]?.sums[""]?.inFlight, 0n);
  });

  it("releases a call whose record was dropped once budgets no longer count it as in flight", async () => {
    let at = 1_000_000;
    const budgets = createMemoryBudgets([budgetOf()], () => at);
    const released: string[] = [];
    const ended = (call: string) => {
      released.push(call);
      budgets.ended(call);
    };
    const { heldCalls } = createRigHeldCalls({ ...budgets, ended }, 1, undefined, { now: () => at });
    const finish = async (request: number, record: string) => {
      await new Promise((resolve) => heldCalls.decide(ask({ request }), resolve));
      heldCalls.began(1, request);
      heldCalls.ended(1, request, record);
    };
    await finish(1, "dropped");
    at += RESERVATION_TIMEOUT_MS - 1;
    await finish(2, "stored");
    assert.deepEqual(released, []);
    at += 1;
    await finish(3, "latest");
    assert.deepEqual(released, ["1.1"]);
    heldCalls.stored([storedAs("stored"), storedAs("latest"), storedAs("dropped")]);
    assert.deepEqual(released, ["1.1", "1.2", "1.3"]);
  });

  it("releases a call without a record, one that never reached the log, and all when the proxy's thread ends", async () => {
    const { heldCalls, decide, inFlight } = open(budgetOf());
    await decide(ask());
    heldCalls.began(1, 1);
    heldCalls.ended(1, 1, null);
    assert.deepEqual(inFlight(), []);
    await decide(ask({ request: 2 }));
    heldCalls.closed(1);
    assert.deepEqual(inFlight(), []);
    await decide(ask({ connection: 2 }));
    heldCalls.lost();
    assert.deepEqual(inFlight(), []);
  });

  it("refuses with the name of the budget, in the provider's shape", async () => {
    const { decide, inFlight } = open(budgetOf({ name: "team", limit: 0n }));
    const answer = await decide(
      ask({}, "/v1/messages", "user-agent: Anthropic/JS 1\r\nx-api-key: sk-ant-api03-x\r\n"),
    );
    assert.match(
      textOf(answer),
      /^HTTP\/1\.1 429 [\s\S]*x-should-retry: false[\s\S]*billing_error[\s\S]*budget lift team --for 1h/,
    );
    assert.deepEqual([answer.kind === "refuse" && answer.budget, inFlight()], ["team", []]);
  });

  it("refuses a call whose target has the absolute form", async () => {
    const { decide } = open(budgetOf({ limit: 0n }));
    assert.equal((await decide(ask({}, "https://localhost/v1/messages?beta=true"))).kind, "refuse");
  });

  it("never refuses what costs nothing", async () => {
    const { decide, inFlight } = open(budgetOf({ limit: 0n }));
    for (const path of ["/v1/messages/count_tokens", "/v1/messages/batches", "/unknown"])
      assert.deepEqual(await decide(ask({}, path)), { kind: "allow" }, path);
    assert.deepEqual(inFlight(), []);
  });

  it("reads model, billing and project for the scope, also from a compressed body", async () => {
    const scoped = (scope: Budget["scope"]) => open(budgetOf({ limit: 0n, scope }));
    assert.equal((await scoped({ model: ["claude-sonnet-*"] }).decide(ask())).kind, "refuse");
    assert.equal((await scoped({ model: ["claude-opus-*"] }).decide(ask())).kind, "allow");
    assert.equal((await scoped({ project: ["rig"], provider: ["anthropic"] }).decide(ask())).kind, "refuse");
    assert.equal((await scoped({ machine: ["m"] }).decide(ask())).kind, "refuse");
    const gzip = ask(
      { body: gzipSync(JSON.stringify(body)) },
      "/v1/messages",
      "content-encoding: gzip\r\nx-api-key: k\r\n",
    );
    assert.equal((await scoped({ model: ["claude-sonnet-*"] }).decide(gzip)).kind, "refuse");
    const login = ask({}, "/v1/messages", "authorization: Bearer sk-ant-oat01-x\r\n");
    assert.equal((await scoped({}).decide(login)).kind, "allow"); // a plan is not spent
  });

  it("takes a deployment of Azure for the model that the operator configured, as the record does", async () => {
    const azure = ask(
      { host: "ours.openai.azure.com", port: 443 },
      "/openai/deployments/our-chat/chat/completions",
      "api-key: k\r\n",
    );
    const kindOf = async (budget: Budget, rest: RestOfBody | null = null) => {
      const budgets = createMemoryBudgets([budget]);
      const { heldCalls } = createRigHeldCalls(budgets, 1, undefined, {
        deployments: { "our-chat": "gpt-5-mini" },
      });
      const answer = await new Promise<GateAnswer>((resolve) => heldCalls.decide(azure, resolve, null, rest));
      return { kind: answer.kind, bound: budgets.state().calls[0]?.bound.costPicoUsd };
    };
    const scope = { model: ["gpt-5-mini"] };
    assert.equal((await kindOf(budgetOf({ limit: 0n, scope }))).kind, "refuse");
    assert.equal((await kindOf(budgetOf({ limit: 0n, scope }), () => {})).kind, "refuse");
    const { kind, bound } = await kindOf(budgetOf({ scope }));
    assert.deepEqual([kind, Number(bound) > 0], ["allow", true]);
  });

  it("refuses the calls of a plan for a minute after a response that credits paid for, until the plan pays again", async () => {
    let now = 0;
    const budgets = createMemoryBudgets([budgetOf({ limit: 0n })], () => now);
    const { heldCalls } = createRigHeldCalls(budgets, 1, undefined, { now: () => now });
    const headers = "authorization: Bearer sk-ant-oat01-x\r\n";
    const decide = async () => {
      const question = ask({}, "/v1/messages", headers);
      return (await new Promise<GateAnswer>((resolve) => heldCalls.decide(question, resolve))).kind;
    };
    const store = (more: Partial<RequestRecord>) => heldCalls.stored([storedAs("record", more)]);
    assert.equal(await decide(), "allow");
    store({ billingMode: "credits", provider: "codex" });
    assert.equal(await decide(), "allow");
    store({ billingMode: "credits" });
    assert.equal(await decide(), "refuse");
    // These have no response of the provider that states who pays.
    store({ billingMode: "plan", blockedBy: "cap" });
    store({ billingMode: "plan", errorClass: "network" });
    assert.equal(await decide(), "refuse");
    now = 60_000;
    assert.equal(await decide(), "allow");
    store({ billingMode: "credits" });
    assert.equal(await decide(), "refuse");
    store({ billingMode: "plan" });
    assert.equal(await decide(), "allow");
  });

  it("names the client as the record does: after User-Agent if the process is only an interpreter", async () => {
    const headers = "user-agent: claude-cli/2.1\r\nx-api-key: sk-ant-api03-x\r\n";
    for (const [program, client] of [
      ["node", "claude-cli"],
      ["claude", "claude"],
    ] as const) {
      const found = { ...rigAttribution, client: program };
      const budgets = createMemoryBudgets([budgetOf({ limit: 0n, scope: { client: [client] } })]);
      const { heldCalls } = createRigHeldCalls(budgets, 1, () => ({ attribute: async () => found }));
      const answer = await new Promise<GateAnswer>((resolve) =>
        heldCalls.decide(ask({}, "/v1/messages", headers), resolve),
      );
      assert.equal(answer.kind, "refuse", program);
    }
  });

  it("lets a call through whose scope is unknown, unless the budget fails closed", async () => {
    const long = ask({ body: Buffer.from('{"messages":['), isWhole: false });
    const scope = { model: ["claude-*"] };
    assert.equal((await open(budgetOf({ limit: 0n, scope })).decide(long)).kind, "allow");
    assert.equal((await open(budgetOf({ limit: 0n, scope, fail: "closed" })).decide(long)).kind, "refuse");
  });

  describe("of a long body, of which only the start has arrived", () => {
    const { model, ...others } = body;
    const start = `{"model":"${model}",`;
    const rest = JSON.stringify({ ...others, session_id: "own", text: "é".repeat(1_000) }).slice(1);

    function decideStart(budget: Budget, first: string | Uint8Array = start, headers?: string) {
      const { budgets, heldCalls, inFlight } = open(budget);
      const answers: string[] = [];
      let arrive = (_: Uint8Array) => {};
      heldCalls.decide(
        ask({ body: Buffer.from(first) }, "/v1/messages", headers),
        (answer) => void answers.push(answer.kind),
        null,
        (use) => {
          arrive = use;
        },
      );
      return { budgets, heldCalls, answers, inFlight, arrive: (text: string) => arrive(Buffer.from(text)) };
    }

    it("refuses without the rest if the budget is used up, with reservations or without", () => {
      const scopes: Budget["scope"][] = [
        {},
        { model: ["claude-sonnet-*"] },
        { project: ["rig"], machine: ["m"] },
      ];
      for (const scope of scopes)
        for (const reserve of [false, true]) {
          const { answers, inFlight } = decideStart(budgetOf({ limit: 0n, scope, reserve }));
          assert.deepEqual([answers, inFlight()], [["refuse"], []], JSON.stringify(scope));
        }
    });

    it("refuses once the start has arrived if the question has nothing of its body, and ignores the rest", () => {
      const { heldCalls, inFlight } = open(budgetOf({ limit: 0n }));
      const answers: string[] = [];
      let parts: Parameters<RestOfBody> | undefined;
      heldCalls.decide(
        ask({ body: Buffer.alloc(0) }),
        (answer) => void answers.push(answer.kind),
        null,
        (...uses) => {
          parts = uses;
        },
      );
      const [use, useStart] = parts ?? assert.fail();
      assert.deepEqual(answers, []);
      useStart?.(Buffer.from(start));
      assert.deepEqual(answers, ["refuse"]);
      use(Buffer.from(`${start}${rest}`));
      assert.deepEqual([answers, inFlight()], [["refuse"], []]);
    });

    it("waits for the rest if the decision needs it, and decides as on a short body", () => {
      const used = budgetOf({ limit: 0n });
      const session = { kind: "session" } as const;
      const cases: readonly [string, Budget, "allow" | "refuse"][] = [
        ["another model", { ...used, scope: { model: ["gpt-*"] } }, "allow"],
        ["session", { ...used, scope: { session: ["own"] } }, "refuse"],
        ["agent", { ...used, scope: { agent: ["*"] } }, "allow"],
        ["period of a session", { ...used, period: session }, "refuse"],
        ["bound", budgetOf({ limit: 1n, reserve: true }), "refuse"],
        ["room", budgetOf(), "allow"],
      ];
      for (const [name, budget, expected] of cases) {
        const { answers, arrive, inFlight } = decideStart(budget);
        assert.deepEqual(answers, [], name);
        arrive(rest);
        assert.deepEqual(answers, [expected], name);
        assert.equal(inFlight().length, expected === "allow" ? 1 : 0, name);
      }
      const late = decideStart({ ...used, scope: { model: ["claude-*"] } }, "{");
      assert.deepEqual(late.answers, []);
      late.arrive(`${start.slice(1)}${rest}`);
      assert.deepEqual(late.answers, ["refuse"]);
    });

    it("counts an allowed call with the bound of the whole body", async () => {
      const short = open(budgetOf());
      await short.decide(ask({ body: Buffer.from(`${start}${rest}`) }));
      const long = decideStart(budgetOf());
      long.arrive(rest);
      const boundIn = ({ budgets }: Pick<typeof short, "budgets">) => budgets.state().calls[0]?.bound;
      assert.ok(Number(boundIn(short)?.tokens) > 1_000);
      assert.deepEqual(boundIn(long), boundIn(short));
    });

    it("refuses nothing at the start that is compressed, or may cost nothing", () => {
      const used = budgetOf({ limit: 0n });
      const headers = "content-encoding: gzip\r\nx-api-key: sk-ant-api03-x\r\n";
      assert.deepEqual(decideStart(used, gzipSync(start), headers).answers, []);
      assert.deepEqual(decideStart(used, "{").answers, []);
    });

    it("refuses a turn of a WebSocket, also after its start", () => {
      const refuse = (api: string, message: object, rest: RestOfBody | null) => {
        const { heldCalls, inFlight } = open(budgetOf({ name: "team", limit: 0n }));
        const answers: GateAnswer[] = [];
        const question = ask(
          {
            ...{ host: "api.openai.com", port: 443, request: -1, isTurn: true },
            head: Buffer.from(
              `GET /v1/${api}?model=gpt-realtime HTTP/1.1\r\nupgrade: websocket\r\nauthorization: Bearer sk-proj-x\r\n\r\n`,
            ),
            body: Buffer.from(JSON.stringify(message).slice(0, rest === null ? undefined : -1)),
          },
          api,
        );
        heldCalls.decide(question, (answer) => void answers.push(answer), null, rest);
        assert.deepEqual(inFlight(), []);
        const [answer = assert.fail()] = answers;
        return JSON.parse(textOf(answer)) as {
          readonly status?: number;
          readonly error: { readonly event_id?: string };
        };
      };
      const turn = { type: "response.create", model: "gpt-5", input: "hello" };
      for (const rest of [null, () => {}]) assert.equal(refuse("responses", turn, rest).status, 400);
      const realtime = { event_id: "e1", type: "response.create" };
      assert.equal(refuse("realtime", realtime, null).error.event_id, "e1");
    });

    it("refuses no call that was sent already, and counts it", async () => {
      const { budgets, heldCalls, inFlight } = open(budgetOf({ limit: 0n }));
      heldCalls.passed(9, 1, 1);
      const answer = new Promise<GateAnswer>((resolve) =>
        heldCalls.decide(
          ask({ body: Buffer.from(start) }),
          resolve,
          usesOf(1, { microUsd: 1, tokens: 1 }),
          (use) => use(Buffer.from(rest)),
        ),
      );
      heldCalls.sentLate(1, 1);
      // It waited for the call that passed.
      heldCalls.closed(9);
      assert.equal((await answer).kind, "allow");
      assert.deepEqual(inFlight(), ["1.1"]);
      assert.deepEqual(budgets.sent, [[{ budget: "cap", reason: "late" }]]);
    });
  });

  it("does not count a call whose caller becomes known only after the call has ended", async () => {
    const scope = { project: ["rig"] };
    for (const [end, left] of [
      ["none", ["1.1"]],
      ["record", []],
      ["closed", []],
      ["lost", []],
    ] as const) {
      const budgets = createMemoryBudgets([budgetOf({ scope })]);
      const { heldCalls, finishLookups } = createSlowHeldCalls(budgets);
      const answer = new Promise<GateAnswer>((resolve) => heldCalls.decide(ask(), resolve));
      heldCalls.began(1, 1);
      if (end === "record") heldCalls.ended(1, 1, "record");
      if (end === "closed") heldCalls.closed(1);
      if (end === "lost") heldCalls.lost();
      finishLookups();
      assert.equal((await answer).kind, "allow");
      const inFlight = () => budgets.state().calls.map(({ id }) => id);
      assert.deepEqual(inFlight(), left, end);
      heldCalls.ended(1, 1, null);
      assert.deepEqual(inFlight(), [], end);
    }
  });

  it("counts a call that was sent too early once, by the budgets that could not decide, and as under way", async () => {
    const own = budgetOf({ name: "own", scope: { project: ["rig"] }, limit: 0n });
    const budgets = createMemoryBudgets([own, budgetOf({ name: "all" })]);
    const { heldCalls, finishLookups } = createSlowHeldCalls(budgets);
    const answer = new Promise<GateAnswer>((resolve) => heldCalls.decide(ask(), resolve));
    heldCalls.sentLate(1, 1);
    assert.deepEqual(budgets.sent, [[{ budget: "own", reason: "caller" }]]);
    heldCalls.began(1, 1);
    finishLookups();
    await answer;
    assert.equal(budgets.sent.length, 1);
    assert.deepEqual(
      budgets.state().calls.map(({ id }) => id),
      ["1.1"],
    );
  });

  it("gives a call without a session that of its process, and none if the process is not found", async () => {
    const perSession = budgetOf({ unit: "requests", limit: 1n, period: { kind: "session" } });
    const scoped = budgetOf({ unit: "requests", limit: 1n, scope: { session: ["process 4*"] } });
    for (const budget of [perSession, scoped]) {
      const budgets = createMemoryBudgets([budget]);
      const callers = new Map([
        [1, 40],
        [2, 40],
        [3, 50],
        [4, undefined],
        [5, undefined],
      ]);
      const { heldCalls } = createRigHeldCalls(budgets, 1, ({ clientPort }) => {
        const processId = callers.get(clientPort);
        const found = { ...rigAttribution, ...(processId !== undefined && { processId }) };
        return { attribute: async () => found };
      });
      const decide = async (connection: number, headers?: string) => {
        const question = ask({ connection, clientPort: connection }, "/v1/messages", headers);
        const answer = await new Promise<GateAnswer>((resolve) => heldCalls.decide(question, resolve));
        return answer.kind;
      };
      const kinds = [await decide(1), await decide(2), await decide(3), await decide(4), await decide(5)];
      assert.deepEqual(kinds, ["allow", "refuse", "allow", "allow", "allow"]);
      const stated = await decide(2, "user-agent: claude-cli/2.1\r\nx-claude-code-session-id: own\r\n");
      assert.equal(stated, "allow");
    }
  });

  it("counts a call without a session as one whose caller was not found, if it was sent too early", async () => {
    const budgets = createMemoryBudgets([budgetOf({ period: { kind: "session" } })]);
    const { heldCalls } = createSlowHeldCalls(budgets);
    heldCalls.decide(ask(), () => {});
    heldCalls.sentLate(1, 1);
    assert.deepEqual(budgets.sent, [[{ budget: "cap", reason: "caller" }]]);
  });

  it("counts the calls of a sub-agent of a sub-agent in the session that the user started, as their records do", async () => {
    const budget = budgetOf({ unit: "requests", limit: 2n, period: { kind: "session" } });
    const { decide } = open(budget);
    const call = async (request: number, session: string, parent: string | null) => {
      const headers = `x-session-id: ${session}\r\n${parent === null ? "" : `x-parent-session-id: ${parent}\r\n`}`;
      return (await decide(ask({ request }, "/v1/messages", headers))).kind;
    };
    assert.deepEqual(
      [await call(1, "root", null), await call(2, "child", "root"), await call(3, "grandchild", "child")],
      ["allow", "allow", "refuse"],
    );
  });

  it("counts a call whose decision came too late by the budgets that may count it", async () => {
    const names = (...list: Budget[]) => {
      const rig = open(...list);
      return {
        ...rig,
        sent: () => rig.budgets.sent.map((each) => each.map(({ budget, reason }) => `${budget} ${reason}`)),
      };
    };
    const scope = { model: ["gpt-*"] };
    const { heldCalls, decide, sent } = names(
      budgetOf({ name: "all" }),
      budgetOf({ name: "gpt", scope }),
      budgetOf({ name: "warns", atLimit: "warn" }),
    );
    await decide(ask());
    heldCalls.sentLate(1, 1);
    assert.deepEqual(sent(), [["all late"]]);
    heldCalls.sentLate(9, 9);
    assert.deepEqual(sent()[1], ["all late", "gpt late"]);
    // A decision that let the call through has counted it.
    const open2 = names(budgetOf({ name: "gpt", scope }));
    await open2.decide(ask({ body: Buffer.from('{"messages":['), isWhole: false }));
    open2.heldCalls.sentLate(1, 1);
    assert.deepEqual(open2.sent(), [["gpt request"]]);
  });

  describe("passed calls that a question must wait for", () => {
    const openPassed = (budget: Budget) => {
      const budgets = createMemoryBudgets([budget]);
      const { heldCalls, read, finishLookups } = createSlowHeldCalls(budgets);
      heldCalls.passed(1, 1, 1);
      heldCalls.began(1, 1);
      const decide = (connection: number, passed: PassedUses) =>
        new Promise<GateAnswer>((resolve) => heldCalls.decide(ask({ connection }), resolve, passed));
      const inFlight = () =>
        budgets.state().calls.map(({ id, bound }) => [id, bound.costPicoUsd, bound.tokens]);
      return { heldCalls, read, finishLookups, decide, inFlight };
    };

    it("are counted with the bounds that the relay knows, also if their callers must be looked up first", async () => {
      const { heldCalls, read, finishLookups, decide, inFlight } = openPassed(
        budgetOf({ scope: { project: ["rig"] }, limit: 7_000_000n }),
      );
      read(ask());
      const second = decide(2, usesOf(1, { microUsd: 7, tokens: 3 }));
      assert.deepEqual(inFlight(), []);
      finishLookups();
      assert.equal((await second).kind, "refuse");
      assert.deepEqual(inFlight(), [["1.1", 7_000_000n, 3]]);
      heldCalls.ended(1, 1, null);
      assert.deepEqual(inFlight(), []);
    });

    it("are bounded from their bodies where the relay could not, also if these are compressed", async () => {
      const headers = "x-api-key: sk-ant-api03-x\r\ncontent-encoding: gzip\r\n";
      const zipped = ask({ body: gzipSync(JSON.stringify(body)) }, "/v1/messages", headers);
      for (const [question, encoding] of [
        [ask(), "none"],
        [zipped, "gzip"],
      ] as const) {
        const { read, finishLookups, decide, inFlight } = openPassed(budgetOf({ limit: 1n }));
        finishLookups();
        read(question);
        assert.equal((await decide(2, usesOf(1, { body: question.body }))).kind, "refuse", encoding);
        const [[, costPicoUsd, tokens] = []] = inFlight();
        assert.ok(Number(costPicoUsd) > 0 && Number(tokens) > 100, encoding);
      }
    });

    it("may be those of an earlier question, which are not sent again", async () => {
      const { read, finishLookups, decide, inFlight } = openPassed(
        budgetOf({ scope: { project: ["rig"] }, limit: 1n }),
      );
      read(ask());
      const answers = [decide(2, usesOf(1, { microUsd: 1, tokens: 1 })), decide(3, NO_USES)];
      finishLookups();
      assert.deepEqual(
        (await Promise.all(answers)).map(({ kind }) => kind),
        ["refuse", "refuse"],
      );
      assert.equal((await decide(4, NO_USES)).kind, "refuse");
      assert.equal(inFlight().length, 1);
    });

    it("are counted once their requests are read, or not at all if they end before", async () => {
      for (const isRead of [true, false]) {
        const { heldCalls, read, finishLookups, decide, inFlight } = openPassed(budgetOf({ limit: 1n }));
        finishLookups();
        const second = decide(2, usesOf(1, { microUsd: 1, tokens: 1 }));
        assert.deepEqual(inFlight(), []);
        if (isRead) read(ask());
        else heldCalls.closed(1);
        assert.equal((await second).kind, isRead ? "refuse" : "allow");
        assert.deepEqual(
          inFlight().map(([id]) => id),
          [isRead ? "1.1" : "2.1"],
        );
      }
    });

    it("are not counted if they fetch an earlier result", async () => {
      const { read, finishLookups, decide, inFlight } = openPassed(budgetOf({ limit: 1n }));
      finishLookups();
      const head = "POST /v1/messages/batches/b/results HTTP/1.1\r\nHost: localhost\r\n\r\n";
      read(ask({ head: Buffer.from(head.replace("POST", "GET")) }));
      assert.equal((await decide(2, usesOf(1, { microUsd: 1, tokens: 1 }))).kind, "allow");
      assert.deepEqual(
        inFlight().map(([id]) => id),
        ["2.1"],
      );
    });
  });

  it("tells the proxy to hold calls only while a budget blocks", () => {
    assert.equal(open().heldCalls.gate(), null);
    assert.equal(open(budgetOf({ atLimit: "warn" })).heldCalls.gate(), null);
    const { passes, ...gate } = open(budgetOf()).heldCalls.gate() ?? assert.fail();
    assert.deepEqual(gate, { fail: "open", timeoutMs: 5 });
    assert.equal(passes?.byteLength, 4 * PASS_MEMORY_WORDS);
    assert.equal(open(budgetOf({ fail: "closed" })).heldCalls.gate()?.fail, "closed");
  });
});
