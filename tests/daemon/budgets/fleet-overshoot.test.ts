import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { createManualClock, type ManualClock } from "../../../adapters/clock/manual-clock.ts";
import { type Served, serve } from "../../../adapters/http/serve.ts";
import { SUM_CACHE_MS } from "../../../cloud/budgets/sum-cache.ts";
import { uuidV7 } from "../../../core/values/uuid.ts";
import { type BudgetTracker, createBudgetTracker } from "../../../daemon/budgets/budget-tracker.ts";
import { FLEET_SYNC_MS, requestFleetBudgets } from "../../../daemon/cloud/fleet-sync.ts";
import { type CloudRig, createRig, json, type TestWorkspace } from "../../cloud/kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../cloud/kit/engines.ts";
import { createMachine, type Machine } from "../cloud/cloud.rig.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";

/** The interval of the metadata sync, in milliseconds. Source: docs/specification.md#limits. */
const SYNC_MS = 30_000;

/** Each machine begins a call every second, which takes five. */
const CALL_EVERY_MS = 1_000;
const CALL_MS = 5_000;

/** What each call costs, by the cloud's rates: 1,000 and 10 tokens of gpt-4o. */
const CALL_COST = 2_600_000_000n;
const LIMIT_CALLS = 100n;

interface Member {
  readonly machine: Machine;
  readonly tracker: BudgetTracker;
  /** When it syncs and asks for its budgets within their intervals. */
  readonly syncAt: number;
  readonly askAt: number;
  /** Calls under way, by when they end. */
  readonly calls: { readonly id: string; readonly endsAt: number }[];
  sent: number;
  refused: number;
}

describeOnOneEngine("a fleet budget that several machines use up", (engine) => {
  let rig: CloudRig;
  let served: Served;
  before(async () => {
    const limits = { rateLimits: { perKey: 1e9, perUser: 1e9 } };
    rig = await createRig(engine, { config: limits });
    const app = rig.app(limits);
    served = await serve((request) => app.fetch(request), { host: "127.0.0.1", port: 0 });
  });
  after(async () => {
    await served.close(0);
    await rig.close();
  });

  async function join(workspace: TestWorkspace, clock: ManualClock, at: number): Promise<Member> {
    const machineId = await rig.addMachine(workspace, `m${at}`);
    const token = await rig.addKey(workspace, { machineId });
    const machine = await createMachine(`http://127.0.0.1:${served.port}`, { clock, token });
    const tracker = createBudgetTracker({
      ...{ store: machine.store, configured: [], place: {}, clock, onNotice() {} },
      onFailure(cause) {
        throw cause;
      },
    });
    await machine.store.opened;
    await Promise.resolve();
    // The worst case: each machine asks shortly before the others have sent what they used.
    const member = {
      machine,
      tracker,
      syncAt: 500 + at * 1_000,
      askAt: at * 1_000,
      calls: [],
      sent: 0,
      refused: 0,
    };
    await ask(member);
    return member;
  }

  async function ask({ machine, tracker }: Member): Promise<void> {
    assert.equal(await requestFleetBudgets(machine.ports), "stated");
    tracker.refreshFleet();
  }

  /** Ends the calls that are due, and begins another if the budget allows it. */
  function step(member: Member, now: number): void {
    const { tracker, machine, calls } = member;
    for (const { id } of calls.filter(({ endsAt }) => endsAt <= now)) {
      const record = sampleRecord({
        requestId: id,
        requestedAt: now - CALL_MS,
        provider: "openai",
        model: "gpt-4o",
        costPicoUsd: CALL_COST,
        usageExtras: null,
        tokens: {
          ...{ promptTokens: 1_000, completionTokens: 10, thinkingTokens: null },
          ...{ cacheReadTokens: null, cacheWriteTokens: null, cacheWrite1hTokens: null },
        },
      });
      tracker.store({ records: [record], bodies: [], coverage: [] }, () =>
        machine.store.insertBatch({ records: [record], bodies: [], coverage: [] }),
      );
      tracker.ended(id);
    }
    calls.splice(0, calls.length, ...calls.filter(({ endsAt }) => endsAt > now));
    const call = {
      facts: { billing: "metered", project: "shop" },
      bound: { costPicoUsd: CALL_COST, tokens: 1_010 },
    };
    const decision = tracker.decide({ ...call, isFinal: true });
    if (decision.kind === "refuse") {
      member.refused += 1;
      return;
    }
    assert.deepEqual(decision, { kind: "allow", letThrough: [] });
    const id = uuidV7(now, crypto.getRandomValues(new Uint8Array(10)));
    tracker.admitted(id, call.facts, call.bound);
    calls.push({ id, endsAt: now + CALL_MS });
    member.sent += 1;
  }

  for (const count of [1, 2, 4])
    it(
      count === 1
        ? "is not exceeded by one machine"
        : `is exceeded by ${count} machines by at most what they use while they do not know of each other`,
      async (context) => {
        const clock = createManualClock(rig.clock.now());
        const workspace = await rig.addWorkspace({ plan: "team" });
        const { token } = await rig.personIn(workspace, "workspaceAdmin");
        const path = `/v1/workspaces/${workspace.id}/budgets`;
        const cents = Number((LIMIT_CALLS * CALL_COST) / 1_000_000n) / 1e6;
        const terms = {
          name: "all",
          subject: "workspace",
          amount: `${cents} USD`,
          period: "total",
          at_limit: "block",
        };
        assert.equal((await rig.call("POST", path, token, terms)).status, 201);
        const members: Member[] = [];
        for (let at = 0; at < count; at += 1) members.push(await join(workspace, clock, at));
        context.after(async () => {
          for (const { tracker, machine } of members) {
            tracker.stop();
            await machine.close();
          }
        });
        // Each machine was refused for as long as anything is under way or unsent.
        const enough = (CALL_MS + SYNC_MS + SUM_CACHE_MS + FLEET_SYNC_MS) / CALL_EVERY_MS;
        for (let elapsed = 0; members.some(({ refused }) => refused < enough); elapsed += 500) {
          for (const member of members) {
            if (elapsed % CALL_EVERY_MS === 0) step(member, clock.now());
            if (elapsed % SYNC_MS === member.syncAt) {
              const result = await member.machine.service.syncNow();
              assert.equal(result.kind, "synced", JSON.stringify(result));
            }
            if (elapsed % FLEET_SYNC_MS === member.askAt) await ask(member);
          }
          clock.advance(500);
          rig.clock.advance(500);
        }
        const [budget] = (await json(rig.call("GET", path, token))).items;
        const sent = BigInt(members.reduce((sum, member) => sum + member.sent, 0));
        assert.equal(budget.spent, `${sent * CALL_COST}`);
        const over = sent - LIMIT_CALLS;
        const bound = BigInt((count - 1) * enough + 1);
        context.diagnostic(
          `${count} of them with a call a second each: ${over} calls above a budget of ${LIMIT_CALLS}; the bound is ${bound}`,
        );
        assert.ok(over <= bound, `${over} > ${bound}`);
        // Alone, a machine knows all of its calls.
        assert.equal(over === 0n, count === 1);
      },
    );
});
