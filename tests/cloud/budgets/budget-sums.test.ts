import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  START,
  type TestWorkspace,
} from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const HOUR = 3_600_000;

describeOnOneEngine("the sums of budgets", (engine) => {
  let rig: CloudRig;
  let workspace: TestWorkspace;
  let other: TestWorkspace;
  let token: string;
  /** By machine. */
  const keys: { readonly machineId: string; readonly token: string }[] = [];
  /** What was sent, with the cost that the cloud gave it. */
  const sent: {
    readonly at: number;
    readonly machine: number;
    readonly project: string;
    readonly spent: bigint;
    readonly tokens: number;
    readonly isRefused: boolean;
    readonly isUnpriced: boolean;
  }[] = [];

  const BILLING = ["metered", "plan", "credits", "unknown"] as const;

  before(async () => {
    rig = await createRig(engine, { config: { rateLimits: { perKey: 1e6, perUser: 1e6 } } });
    workspace = await rig.addWorkspace({ plan: "team" });
    other = await rig.addWorkspace({ plan: "team" });
    token = (await rig.personIn(workspace, "workspaceAdmin")).token;
    for (let machine = 0; machine < 3; machine += 1) {
      const machineId = await rig.addMachine(workspace, `m${machine}`);
      keys.push({ machineId, token: await rig.addKey(workspace, { machineId }) });
    }
    const records: Record<string, unknown>[][] = [[], [], []];
    const facts = new Map<string, Omit<(typeof sent)[number], "spent">>();
    // Around the starts of days, weeks and months in zones of whole and partial hours.
    for (let index = 0; index < 300; index += 1) {
      const machine = index % 3;
      const at = START - (index * 37 * HOUR) / 11 - (index % 7) * 60_000;
      const project = index % 4 === 0 ? "shop" : "hermes";
      const isRefused = index % 10 === 3;
      const isUnpriced = index % 10 === 7;
      const id = rig.uuid();
      const tokens = isRefused ? 0 : 1_000 + index;
      records[machine]?.push(
        record(id, {
          ...{
            requested_at: new Date(at).toISOString(),
            project,
            billing_mode: BILLING[index % 4 === 3 ? 0 : index % 3],
          },
          ...(isUnpriced && { model: "no-such-model" }),
          ...(isRefused ? { blocked_by: "b" } : { prompt_tokens: tokens - 10, completion_tokens: 10 }),
        }),
      );
      facts.set(id, { at, machine, project, tokens, isRefused, isUnpriced });
    }
    for (const [machine, all] of records.entries())
      assert.equal(
        (await rig.call("POST", "/v1/requests/batch", keys[machine]!.token, batch(...all))).status,
        200,
      );
    // Another workspace's requests never count.
    await rig.call(
      "POST",
      "/v1/requests/batch",
      other.token,
      batch(record(rig.uuid(), { prompt_tokens: 9e6, completion_tokens: 1 })),
    );
    const rows = await rig.db
      .selectFrom("requests")
      .select(["request_id", "cost_pico_usd", "billing_mode"])
      .where("workspace_id", "=", workspace.id)
      .execute();
    for (const row of rows) {
      const isSpent = row.billing_mode === "metered" || row.billing_mode === "credits";
      sent.push({ ...facts.get(row.request_id)!, spent: isSpent ? BigInt(row.cost_pico_usd ?? 0) : 0n });
    }
    assert.equal(sent.length, 300);
  });
  after(() => rig.close());

  const AMOUNTS = { usd: "9 USD", tokens: "9M tokens", requests: "9M requests" } as const;
  const UNITS = ["usd", "tokens", "requests"] as const;

  for (const zone of ["UTC", "Asia/Kolkata", "Asia/Kathmandu", "America/New_York"])
    for (const period of ["hour", "day", "week", "month", "total"])
      it(`are exact to the call for USD, tokens and requests a ${period} in ${zone}, by subject and machine`, async () => {
        const base = `/v1/workspaces/${workspace.id}/budgets`;
        const subjects = [
          ["workspace", null],
          ["project", "shop"],
          ["person", workspace.userId],
          ["machine", keys[1]!.machineId],
        ] as const;
        const cases = UNITS.flatMap((unit) =>
          subjects.map(([subject, target]) => ({ unit, subject, target, name: `${subject} ${unit}` })),
        );
        for (const { name, unit, subject, target } of cases) {
          const body = {
            ...{ name, subject, target, amount: AMOUNTS[unit], period },
            ...(period !== "total" && { zone }),
          };
          assert.equal((await rig.call("POST", base, token, body)).status, 201);
        }
        type Budget = Readonly<Record<string, string>>;
        const { items }: { items: Budget[] } = await json(rig.call("GET", base, token));
        const byMachine: Budget[][] = [];
        for (const { token: key } of keys)
          byMachine.push((await json(rig.call("GET", "/v1/daemon/budgets", key))).budgets);
        for (const { name, unit, subject } of cases) {
          const item = items.find((each) => each.name === name)!;
          const from = Date.parse(item.period_from!);
          const matches = (each: (typeof sent)[number]) =>
            each.at >= from &&
            (subject !== "project" || each.project === "shop") &&
            (subject !== "machine" || each.machine === 1);
          const sum = (all: readonly (typeof sent)[number][]) =>
            all.reduce(
              (total, each) =>
                total +
                { usd: each.spent, tokens: BigInt(each.tokens), requests: each.isRefused ? 0n : 1n }[unit],
              0n,
            );
          const counted = sent.filter(matches);
          assert.ok(period === "hour" || counted.length > 0);
          assert.equal(item.spent, `${sum(counted)}`, `${name} ${zone} ${period}`);
          const unpriced = counted.filter(({ isUnpriced }) => isUnpriced).length;
          assert.equal(item.unpriced_calls, unit === "usd" ? unpriced : 0, name);
          for (const [machine, budgets] of byMachine.entries()) {
            const budget = budgets.find((each) => each.name === name);
            if (subject === "machine" && machine !== 1) {
              assert.equal(budget, undefined, name);
              continue;
            }
            const isHere = (each: (typeof sent)[number]) => each.machine === machine;
            assert.deepEqual(
              [budget?.here, budget?.elsewhere],
              [`${sum(counted.filter(isHere))}`, `${sum(counted.filter((each) => !isHere(each)))}`],
              `${name} on machine ${machine}`,
            );
          }
        }
        assert.deepEqual(
          byMachine.map(({ length }) => length),
          [3, 4, 3].map((perUnit) => perUnit * UNITS.length),
        );
        await rig.db.deleteFrom("budgets").where("workspace_id", "=", workspace.id).execute();
      });
});
