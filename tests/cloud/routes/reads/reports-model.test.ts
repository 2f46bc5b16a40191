import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import fc from "fast-check";
import type { BillingMode } from "../../../../core/values/record.ts";
import { BILLING_MODES } from "../../../../core/values/record-fields.ts";
import type { UsageTotals } from "../../../../core/wire/usage-totals.ts";
import { propertyRuns } from "../../../core/property-runs.rig.ts";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  START,
  type TestWorkspace,
  UNLIMITED,
} from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A request of the model. */
interface Sent {
  readonly workspace: number;
  readonly id: string;
  readonly at: number;
  readonly machine: number | null;
  readonly user: string;
  readonly project: string | null;
  readonly model: "gpt-4o" | "unheard-of";
  readonly failed: boolean;
  readonly blocked: boolean;
  readonly prompt: number | null;
  readonly completion: number | null;
  readonly complete: boolean;
  readonly billing: BillingMode | null;
}

/** Times at the edges of hours and days, and between them. */
const age = fc.oneof(
  fc.integer({ min: 1, max: 5 * 24 }).map((hours) => hours * HOUR),
  fc.integer({ min: 1, max: 5 * 24 * 4 }).map((quarters) => (quarters * HOUR) / 4),
  fc.integer({ min: 1, max: 5 * DAY }),
);

const request = fc.record({
  workspace: fc.integer({ min: 0, max: 1 }),
  // A few ids, so that both tenants have some of them and some repeat.
  id: fc.integer({ min: 0, max: 40 }),
  age,
  sender: fc.integer({ min: 0, max: 2 }),
  project: fc.constantFrom(null, "docs", "shop"),
  model: fc.constantFrom("gpt-4o" as const, "unheard-of" as const),
  failed: fc.boolean(),
  blocked: fc.boolean(),
  billing: fc.constantFrom(...BILLING_MODES, null),
  prompt: fc.option(fc.integer({ min: 0, max: 1_000 }), { nil: null }),
  completion: fc.option(fc.integer({ min: 0, max: 1_000 }), { nil: null }),
});

const question = fc.record({
  workspace: fc.integer({ min: 0, max: 1 }),
  ages: fc.tuple(age, age),
  by: fc.constantFrom("project" as const, "model" as const, "machine" as const, "user" as const),
  bucket: fc.constantFrom("hour" as const, "day" as const),
});

describeOnOneEngine("overview and analytics, compared with a model", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config: UNLIMITED });
  });
  after(() => rig.close());

  // Planted: edges added instead of subtracted.
  it("count each tenant's requests once, whatever the period's edges", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 60, size: "max" }),
        fc.array(question, { minLength: 6, maxLength: 6 }),
        async (requests, questions) => {
          const tenants = await Promise.all([addTenant(rig), addTenant(rig)]);
          const ids = Array.from({ length: 41 }, () => rig.uuid());
          const sent = new Map<string, Sent>();
          for (const { workspace, id, age, sender, ...facts } of requests) {
            const tenant = tenants[workspace as 0 | 1];
            const key = `${workspace} ${id}`;
            const request: Sent = {
              ...facts,
              workspace,
              id: ids[id] as string,
              at: START - age,
              complete: facts.prompt !== null && facts.completion !== null,
              machine: sender === 2 ? null : sender,
              user: sender === 1 ? tenant.colleague : tenant.workspace.userId,
            };
            await rig.call(
              "POST",
              "/v1/requests/batch",
              tenant.tokens[sender] as string,
              batch(toRecord(request)),
            );
            const known = sent.get(key);
            sent.set(key, known === undefined ? request : filled(known, request));
          }
          const costs = await costsOf(
            rig,
            tenants.map(({ workspace }) => workspace.id),
          );
          const costOf = (one: Sent) =>
            costs.get(`${tenants[one.workspace as 0 | 1].workspace.id} ${one.id}`) ?? null;
          for (const { workspace, ages, by, bucket } of questions) {
            const tenant = tenants[workspace as 0 | 1];
            const [from, to] = [START - Math.max(...ages), START - Math.min(...ages)];
            const inside = [...sent.values()].filter(
              (one) => one.workspace === workspace && one.at >= from && one.at < to,
            );
            const path = `/v1/workspaces/${tenant.workspace.id}`;
            const period = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;
            const overview = await json(rig.call("GET", `${path}/overview?${period}`, tenant.session));
            assert.deepEqual(overview.totals, totalsOf(inside, costOf));
            assert.deepEqual(overview.days, expectedBuckets(inside, costOf, DAY));
            assert.deepEqual(
              groupsOf(overview.projects),
              expectedGroups(inside, costOf, (one) => one.project),
            );
            assert.deepEqual(
              groupsOf(overview.models),
              expectedGroups(inside, costOf, (one) => one.model),
            );

            const analytics = await json(
              rig.call("GET", `${path}/analytics?${period}&by=${by}&bucket=${bucket}`, tenant.session),
            );
            const keyOf = (one: Sent): string | null => {
              if (by === "machine")
                return one.machine === null ? null : (tenant.machines[one.machine] as string);
              return one[by];
            };
            assert.deepEqual(analytics.totals, totalsOf(inside, costOf));
            assert.deepEqual(groupsOf(analytics.groups), expectedGroups(inside, costOf, keyOf));
            for (const { key, buckets } of analytics.groups) {
              const own = inside.filter((one) => keyOf(one) === key);
              assert.deepEqual(buckets, expectedBuckets(own, costOf, bucket === "hour" ? HOUR : DAY));
            }
          }
        },
      ),
      { numRuns: propertyRuns(8) },
    );
  });
});

async function addTenant(rig: CloudRig) {
  const workspace: TestWorkspace = await rig.addWorkspace({ plan: "business" });
  const colleague = await rig.addPerson("Ben");
  await rig.addMember(workspace, colleague);
  const desktop = await rig.addMachine(workspace);
  return {
    workspace,
    colleague,
    machines: [workspace.machineId, desktop],
    session: await rig.sessionFor(colleague),
    tokens: [
      workspace.token,
      await rig.addKey(workspace, { machineId: desktop, userId: colleague }),
      await rig.addKey(workspace, { scope: "admin" }),
    ],
  };
}

function toRecord(one: Sent): Record<string, unknown> {
  return record(one.id, {
    requested_at: new Date(one.at).toISOString(),
    model: one.model,
    project: one.project,
    http_status: one.failed ? 500 : 200,
    blocked_by: one.blocked ? "cap" : null,
    prompt_tokens: one.prompt,
    completion_tokens: one.completion,
    request_kind: "chat",
    tokens_complete: one.complete,
    billing_mode: one.billing,
  });
}

/** What the same sender adds by sending again: only what was null. Other senders add nothing. */
function filled(known: Sent, again: Sent): Sent {
  if (known.machine !== again.machine || known.user !== again.user) return known;
  return {
    ...known,
    project: known.project ?? again.project,
    blocked: known.blocked || again.blocked,
    prompt: known.prompt ?? again.prompt,
    completion: known.completion ?? again.completion,
    billing: known.billing ?? again.billing,
  };
}

/** The cloud's price of each request. Other tests cover how it is computed. */
async function costsOf(rig: CloudRig, workspaceIds: readonly string[]): Promise<Map<string, bigint>> {
  const rows = await rig.db
    .selectFrom("requests")
    .select(["workspace_id", "request_id", "cost_pico_usd"])
    .where("workspace_id", "in", workspaceIds)
    .where("cost_pico_usd", "is not", null)
    .execute();
  return new Map(
    rows.map((row) => [`${row.workspace_id} ${row.request_id}`, BigInt(row.cost_pico_usd ?? 0)] as const),
  );
}

type CostOf = (one: Sent) => bigint | null;

function totalsOf(requests: readonly Sent[], costOf: CostOf): UsageTotals {
  const sum = (of: (one: Sent) => number) => requests.reduce((total, one) => total + of(one), 0);
  const cost = (isIncluded: (mode: BillingMode | null) => boolean) =>
    requests
      .filter(({ billing }) => isIncluded(billing))
      .reduce((total, one) => total + (costOf(one) ?? 0n), 0n)
      .toString();
  const used = (one: Sent) => (one.prompt ?? 0) + (one.completion ?? 0);
  return {
    requests: requests.length,
    failed_requests: sum(({ failed }) => Number(failed)),
    blocked_requests: sum(({ blocked }) => Number(blocked)),
    prompt_tokens: sum(({ prompt }) => prompt ?? 0),
    completion_tokens: sum(({ completion }) => completion ?? 0),
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    thinking_tokens: 0,
    cost_pico_usd: cost(() => true),
    spent_pico_usd: cost((mode) => mode === "metered" || mode === "credits" || mode === "free"),
    plan_usage_pico_usd: cost((mode) => mode === "plan"),
    unknown_billing_pico_usd: cost((mode) => mode === null || mode === "unknown"),
    unpriced_requests: sum((one) => Number(costOf(one) === null && !(one.failed && used(one) === 0))),
    incomplete_requests: sum(({ complete }) => Number(!complete)),
  };
}

/** Sums by bucket, oldest first. */
function expectedBuckets(requests: readonly Sent[], costOf: CostOf, lengthMs: number): unknown[] {
  const byStart = Map.groupBy(requests, ({ at }) => at - (at % lengthMs));
  return [...byStart]
    .sort(([one], [other]) => one - other)
    .map(([start, own]) => ({ start: new Date(start).toISOString(), ...totalsOf(own, costOf) }));
}

/** Sums by key, in any order. */
function expectedGroups(
  requests: readonly Sent[],
  costOf: CostOf,
  keyOf: (one: Sent) => string | null,
): ReadonlyMap<string | null, UsageTotals> {
  const groups = Map.groupBy(requests, keyOf);
  return new Map([...groups].map(([key, own]) => [key, totalsOf(own, costOf)]));
}

type Group = { key: string | null; label: string; buckets?: unknown } & UsageTotals;

function groupsOf(groups: readonly Group[]): ReadonlyMap<string | null, UsageTotals> {
  const costs = groups.map(({ cost_pico_usd }) => BigInt(cost_pico_usd));
  assert.ok(
    costs.every((cost, at) => at === 0 || cost <= (costs[at - 1] as bigint)),
    "the costliest first",
  );
  return new Map(groups.map(({ key, label: _label, buckets: _buckets, ...totals }) => [key, totals]));
}
