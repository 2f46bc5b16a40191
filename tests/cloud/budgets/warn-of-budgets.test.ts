import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { CHECK_DELAY_MS, createBudgetWatch } from "../../../cloud/budgets/budget-watch.ts";
import { createCloud } from "../../../cloud/create-cloud.ts";
import { WARNING_RETRY_MS } from "../../../cloud/store/budget-warnings.ts";
import type { CloudLogEvent } from "../../../core/ports/cloud-log.ts";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  type TestPerson,
  type TestWorkspace,
} from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const DAY = 86_400_000;

describeOnOneEngine("emails about budgets", (engine) => {
  let rig: CloudRig;
  let workspace: TestWorkspace;
  let admin: TestPerson;
  let base: string;
  before(async () => {
    rig = await createRig(engine, { config: { rateLimits: { perKey: 1e6, perUser: 1e6 } } });
  });
  after(() => rig.close());
  beforeEach(async () => {
    workspace = await rig.addWorkspace({ plan: "team" });
    admin = await rig.personIn(workspace, "workspaceAdmin");
    base = `/v1/workspaces/${workspace.id}/budgets`;
    rig.mails.length = 0;
  });

  const set = async (body: Record<string, unknown>): Promise<string> =>
    (await json(rig.call("POST", base, admin.token, { subject: "workspace", name: "b", ...body }))).id;
  const use = async (requests: number) => {
    const requestedAt = new Date(rig.clock.now()).toISOString();
    const records = Array.from({ length: requests }, () => record(rig.uuid(), { requested_at: requestedAt }));
    assert.equal(
      (await rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records))).status,
      200,
    );
  };
  /** Waits until the thresholds were checked. */
  const checked = async () => {
    rig.clock.advance(CHECK_DELAY_MS);
    await rig.budgetWatch.settled();
  };
  const ask = async () =>
    assert.equal((await rig.call("GET", "/v1/daemon/budgets", workspace.token)).status, 200);
  const poll = async () => {
    await ask();
    await checked();
  };
  const subjects = () => rig.mails.map(({ subject }) => subject);

  it("are sent once for each threshold, the highest of those that were reached at once, and again in the next period", async () => {
    await set({ amount: "10 requests", period: "day", zone: "UTC" });
    await use(4);
    await poll();
    assert.deepEqual(subjects(), []);
    await use(1);
    await Promise.all([ask(), ask(), ask()]);
    await poll();
    await poll();
    assert.deepEqual(subjects(), ["Budget b has reached 50 %"]);
    await use(5);
    await poll();
    await poll();
    assert.deepEqual(subjects().slice(1), ["Budget b is used up"]);
    rig.clock.advance(DAY);
    await poll();
    await use(6);
    await poll();
    assert.deepEqual(subjects().slice(2), ["Budget b has reached 50 %"]);
  });

  it("are sent once by two processes that check at the same time, and by one that was started again", async () => {
    const sent: string[] = [];
    const open = () =>
      createBudgetWatch({
        ...{ ...rig.parts, baseUrl: "https://c" },
        log: (event) => rig.log.push(event),
        mail: async ({ subject }) => void sent.push(subject),
      });
    const check = async (watches: readonly ReturnType<typeof open>[]) => {
      for (const watch of watches) watch.note({ workspaceId: workspace.id, name: "Work" });
      rig.clock.advance(CHECK_DELAY_MS);
      await Promise.all(watches.map((watch) => watch.settled()));
    };
    await use(5);
    await checked();
    await set({ amount: "10 requests", period: "total" });
    const [one, other] = [open(), open()];
    await check([one, other]);
    await check([other, one]);
    assert.deepEqual(sent, ["Budget b has reached 50 %"]);
    await Promise.all([one.stop(), other.stop()]);
    const restarted = open();
    await check([restarted]);
    assert.equal(sent.length, 1);
    // The process that received the records checks them as well.
    await use(5);
    const third = open();
    await check([third, restarted]);
    await rig.budgetWatch.settled();
    assert.deepEqual([...sent.slice(1), ...subjects()], ["Budget b is used up"]);
    await Promise.all([third.stop(), restarted.stop()]);
  });

  it("warn again when the amount changes", async () => {
    const id = await set({ amount: "10 requests" });
    await use(6);
    await poll();
    await rig.call("PATCH", `${base}/${id}`, admin.token, { amount: "12 requests" });
    await poll();
    await poll();
    assert.deepEqual(subjects(), ["Budget b has reached 50 %", "Budget b has reached 50 %"]);
  });

  it("name the budget, the amount, the end of the period and the page; a budget that blocks says so", async () => {
    await set({ amount: "2 requests", period: "day", zone: "UTC", at_limit: "block" });
    await use(2);
    await poll();
    const [mail] = rig.mails;
    const end = new Date(Math.floor(rig.clock.now() / DAY) * DAY + DAY).toISOString().slice(0, 10);
    assert.equal(
      mail?.text,
      `The budget "b" of the workspace "Work" is used up: 2 requests of 2 requests (100 %). Its period ends at ${end} 00:00 UTC. Calls that it counts are refused. An administrator can lift the budget on the page below.\nhttp://127.0.0.1:8787/w/${workspace.id}/budgets\n`,
    );
  });

  it("go to the administrators, and to the person whose budget or machine it is", async () => {
    const addressOf = async (userId: string) => (await rig.accounts.getPeople([userId])).get(userId)?.email;
    const [adminAddress, ownAddress] = [await addressOf(admin.userId), await addressOf(workspace.userId)];
    await rig.personIn(workspace, "member");
    for (const [subject, target, expected] of [
      ["workspace", null, [adminAddress]],
      ["project", "shop", []],
      ["person", workspace.userId, [adminAddress, ownAddress]],
      ["machine", workspace.machineId, [adminAddress, ownAddress]],
    ] as const) {
      const id = await set({ amount: "1 requests", subject, target });
      await use(1);
      await poll();
      assert.deepEqual(rig.mails.map(({ to }) => to).sort(), [...expected].sort(), subject);
      await rig.call("DELETE", `${base}/${id}`, admin.token);
      rig.mails.length = 0;
    }
  });

  it("are not sent while the budget is paused", async () => {
    const id = await set({ amount: "1 requests" });
    await rig.call("POST", `${base}/${id}/pause`, admin.token);
    await use(1);
    await poll();
    assert.deepEqual(subjects(), []);
    await rig.call("POST", `${base}/${id}/resume`, admin.token);
    await poll();
    assert.equal(rig.mails.length, 1);
  });

  it("are sent without a request of a machine for its budgets, after its records", async () => {
    await set({ amount: "1 requests" });
    await use(1);
    assert.deepEqual(subjects(), []);
    await checked();
    assert.deepEqual(subjects(), ["Budget b is used up"]);
  });

  it("that hang do not keep a request waiting", async () => {
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const hanging = createBudgetWatch({
      ...{ ...rig.parts, baseUrl: "https://c" },
      log: (event) => rig.log.push(event),
      mail: () => {
        begin();
        return new Promise(() => {});
      },
    });
    const app = createCloud({ ...ports(), budgetWatch: hanging }, {});
    const headers = { authorization: `Bearer ${workspace.token}` };
    await use(1);
    await checked();
    await set({ amount: "1 requests" });
    assert.equal((await app.request("/v1/daemon/budgets", { headers })).status, 200);
    rig.clock.advance(CHECK_DELAY_MS);
    await begun;
    assert.equal((await app.request("/v1/daemon/budgets", { headers })).status, 200);
  });

  it("that fail are logged, and are tried again after ten minutes, without a request", async () => {
    let tries = 0;
    let isBroken = true;
    const watch = createBudgetWatch({
      ...{ ...rig.parts, baseUrl: "https://c" },
      log: (event) => rig.log.push(event),
      mail: async () => {
        tries += 1;
        if (isBroken) throw new TypeError("refused");
      },
    });
    const after = async (ms: number) => {
      rig.clock.advance(ms);
      await watch.settled();
    };
    await use(1);
    await checked();
    await set({ amount: "1 requests", period: "total" });
    const before = rig.log.length;
    watch.note({ workspaceId: workspace.id, name: "Work" });
    await after(CHECK_DELAY_MS);
    watch.note({ workspaceId: workspace.id, name: "Work" });
    await after(CHECK_DELAY_MS);
    assert.equal(tries, 1);
    const failed = rig.log.slice(before).filter(({ event }) => event === "cloud.mail_failed");
    assert.deepEqual(failed, [{ event: "cloud.mail_failed", reason: "TypeError" }]);
    isBroken = false;
    await after(WARNING_RETRY_MS);
    await after(CHECK_DELAY_MS);
    assert.equal(tries, 2);
    await after(WARNING_RETRY_MS);
    await after(CHECK_DELAY_MS);
    assert.equal(tries, 2);
    await watch.stop();
    watch.note({ workspaceId: workspace.id, name: "Work" });
    assert.equal(rig.clock.nextTimerMs(), null);
  });

  it("that failed while the clock was ahead are tried again, once", async () => {
    let tries = 0;
    let isBroken = true;
    const watch = createBudgetWatch({
      ...{ ...rig.parts, baseUrl: "https://c" },
      log: (event) => rig.log.push(event),
      mail: async () => {
        tries += 1;
        if (isBroken) throw new TypeError("refused");
      },
    });
    const check = async () => {
      watch.note({ workspaceId: workspace.id, name: "Work" });
      rig.clock.advance(CHECK_DELAY_MS);
      await watch.settled();
    };
    await use(1);
    await checked();
    await set({ amount: "1 requests", period: "total" });
    const now = rig.clock.now();
    rig.clock.jump(now + DAY);
    await check();
    rig.clock.jump(now);
    isBroken = false;
    await check();
    await check();
    assert.equal(tries, 2);
    await watch.stop();
  });

  const ports = () => ({
    ...rig.parts,
    ...{ sha256, mail: async () => {}, peerAddress: () => null },
    log: (event: CloudLogEvent) => void rig.log.push(event),
  });
});
