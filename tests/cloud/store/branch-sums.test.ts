import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import fc from "fast-check";
import { sql } from "kysely";
import { blankRequests } from "../../../cloud/store/delete-and-blank.ts";
import { sumModels } from "../../../cloud/store/model-sums.ts";
import { resumeTasks } from "../../../cloud/store/resume-tasks.ts";
import { contributions, USAGE_SUMS } from "../../../cloud/store/rollups.ts";
import { addTask } from "../../../cloud/store/tasks.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import type { UsageAnswer } from "../../../core/wire/usage.ts";
import { propertyRuns } from "../../core/property-runs.rig.ts";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  START,
  type TestWorkspace,
  UNLIMITED,
} from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { type Losses, losingEngine } from "../kit/losing-engine.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A record with one of a few ids, so that some are sent again and then state more. */
const sent = fc.record({
  id: fc.integer({ min: 0, max: 11 }),
  branch: fc.constantFrom(null, "main", "topic"),
  tokens: fc.constantFrom(null, 7, 900),
});

const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("send" as const), records: fc.array(sent, { maxLength: 6 }) }),
  },
  fc.record({ kind: fc.constant("erase" as const), id: fc.integer({ min: 0, max: 11 }) }),
  // A process of the previous version stores requests without these sums.
  fc.record({ kind: fc.constant("oldVersion" as const), sent }),
  fc.record({ kind: fc.constant("sum" as const) }),
);

const costOf = (totals: UsageAnswer["totals"]) =>
  `${BigInt(totals.spent_pico_usd ?? 0) + BigInt(totals.plan_usage_pico_usd ?? 0) + BigInt(totals.unknown_billing_pico_usd ?? 0)}`;

describeOnOneEngine("the sums by branch and by model", (engine) => {
  let rig: CloudRig;
  const noLosses = () => false;
  const losses: Losses = { loses: noLosses };
  before(async () => {
    rig = await createRig(losingEngine(engine, losses), { config: UNLIMITED });
  });
  after(() => rig.close());

  async function open() {
    const workspace = await rig.addWorkspace({ plan: "business" });
    const ids = Array.from({ length: 12 }, () => rig.uuid());
    const toWire = ({ id, branch, tokens }: { id: number; branch: string | null; tokens: number | null }) =>
      record(`${ids[id]}`, {
        // Over 44 days, at several hours, and at the edges of a day.
        requested_at: new Date(START - id * 4 * DAY - (id % 3) * 12 * 3_600_000).toISOString(),
        project: id % 2 === 0 ? "docs" : "shop",
        model: id % 3 === 0 ? "gpt-4o" : "gpt-4o-mini",
        git_branch: branch,
        prompt_tokens: tokens,
        tokens_complete: tokens === null ? null : true,
      });
    const send = (...records: Parameters<typeof toWire>[0][]) =>
      rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records.map(toWire)));
    return { workspace, ids, send };
  }

  const askToSum = (workspace: TestWorkspace) =>
    inScope(rig.db, {}, async (trx) => {
      await addTask(trx, "sum_branches", workspace.id, {}, rig.clock.now());
      await addTask(trx, "sum_models", workspace.id, {}, rig.clock.now());
    });

  /** The rows of the table that are not empty, and the same rows from all requests. */
  async function readBoth({ id }: TestWorkspace) {
    const columns = `span_hours, starts_at::text, project, git_branch, provider, model`;
    const { rows: stored } =
      await sql`select ${sql.raw(`${columns}, ${USAGE_SUMS.map((sum) => `${sum}::text`).join(", ")}`)}
      from usage_branches where workspace_id = ${id}::uuid and requests <> 0 order by 1, 2, 3, 4, 5, 6`.execute(
        rig.db,
      );
    const sums = USAGE_SUMS.map((sum) => `sum(${sum})::text as ${sum}`).join(", ");
    const own = contributions(`(select * from requests where workspace_id = '${id}') as r`, 1, [
      "git_branch",
    ]);
    const rest = `provider, model, ${USAGE_SUMS.join(", ")}`;
    const day = "date_trunc('day', hour, 'UTC')";
    const { rows: expected } = await sql
      .raw(
        `select ${columns}, ${sums} from (
          select 1 as span_hours, hour as starts_at, project, git_branch, ${rest} from (${own}) as h
          union all select 24, ${day}, project, git_branch, ${rest} from (${own}) as d
          union all select -1, hour, '', '', ${rest} from (${own}) as h
          union all select -24, ${day}, '', '', ${rest} from (${own}) as d
        ) as spans group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6`,
      )
      .execute(rig.db);
    return { stored, expected };
  }

  /** The answer that reads sums by branch, and the same from all requests, over the 44 days. */
  async function assertAnswer(workspace: TestWorkspace) {
    const session = await rig.sessionFor(workspace.userId);
    const answer = (await json(
      rig.call(
        "GET",
        `/v1/workspaces/${workspace.id}/usage?period=90d&by=branch&then=model&compare=none`,
        session,
      ),
    )) as UsageAnswer;
    const { rows } = await sql<{ branch: string | null; requests: string; cost: string }>`
      select git_branch as branch, count(*)::text as requests, coalesce(sum(cost_pico_usd), 0)::text as cost
      from requests where workspace_id = ${workspace.id}::uuid group by 1`.execute(rig.db);
    const sorted = (each: readonly unknown[]) => each.map((row) => JSON.stringify(row)).sort();
    assert.deepEqual(
      sorted(answer.rows.map(({ key, totals }) => [key, `${totals.requests}`, costOf(totals)])),
      sorted(rows.map(({ branch, requests, cost }) => [branch, requests, cost])),
    );
  }

  /** The number of the last seal, and of the one up to which the sums by model are complete. */
  async function readSeals({ id }: TestWorkspace) {
    const { rows } = await sql<{ seq: string; summed_seq: string | null }>`
      select seq::text, summed_seq::text from cost_seal_heads where workspace_id = ${id}::uuid`.execute(
      rig.db,
    );
    return rows[0];
  }

  const saveSummed = ({ id }: TestWorkspace, summed: string | null) =>
    sql`update cost_seal_heads set summed_seq = ${summed}::bigint where workspace_id = ${id}::uuid`.execute(
      rig.db,
    );

  /** Stores records as a process without the sums by branch and by model does. */
  async function sendAsOldVersion(workspace: TestWorkspace, send: () => Promise<Response>) {
    const own = sql`from usage_branches where workspace_id = ${workspace.id}::uuid`;
    const { rows } = await sql<{
      kept: unknown;
    }>`select coalesce(json_agg(usage_branches), '[]') as kept ${own}`.execute(rig.db);
    const heads = rig.db.selectFrom("cost_seal_heads").where("workspace_id", "=", workspace.id);
    const before = await heads.select(["summed_seq", "summed_seals"]).executeTakeFirst();
    await send();
    await rig.db
      .updateTable("cost_seal_heads")
      .set(before ?? { summed_seq: null, summed_seals: 0 })
      .where("workspace_id", "=", workspace.id)
      .execute();
    await sql`delete ${own}`.execute(rig.db);
    await sql`insert into usage_branches
      select * from json_populate_recordset(null::usage_branches, ${JSON.stringify(rows[0]?.kept)}::text::json)`.execute(
      rig.db,
    );
  }

  const listTasks = ({ id }: TestWorkspace) =>
    rig.db.selectFrom("tasks").select(["kind", "due_at"]).where("task_id", "=", id).execute();

  /** Sums up the models of a workspace as the hourly job does. */
  const runSumming = ({ id }: TestWorkspace) =>
    sumModels(rig.db, { kind: "sum_models", taskId: id, details: {} }, rig.clock.now());

  /** Sums up the models of a workspace, and runs work each time that all of its days are compared. Returns how often. */
  async function sumModelsWhile(workspace: TestWorkspace, work: () => Promise<unknown>): Promise<number> {
    await sql`delete from usage_branches where workspace_id = ${workspace.id}::uuid and span_hours < 0`.execute(
      rig.db,
    );
    await saveSummed(workspace, null);
    await inScope(rig.db, {}, (trx) => addTask(trx, "sum_models", workspace.id, {}, rig.clock.now()));
    let compared = 0;
    const loses = async (statement: string) => {
      if (!/as compared\s+group by/.test(statement)) return false;
      compared += 1;
      losses.loses = noLosses;
      await work();
      losses.loses = loses;
      return false;
    };
    losses.loses = loses;
    await runSumming(workspace);
    losses.loses = noLosses;
    return compared;
  }

  /** Answers that the sums by model give are those that the other rollups give. */
  async function assertAnswersByModel(workspace: TestWorkspace) {
    const session = await rig.sessionFor(workspace.userId);
    const read = () =>
      Promise.all(
        [
          "usage?period=90d&by=model",
          "usage?period=30d&by=provider&then=model&tz=Europe/Berlin&bucket=day",
          "usage?period=7d&by=model&bucket=hour&metric=requests",
          "usage?period=30d&by=provider&model.not=gpt-4o&tz=America/New_York&bucket=day",
          `overview?from=${new Date(START - 90 * DAY).toISOString()}`,
          `analytics?by=model&from=${new Date(START - 70 * DAY - 1).toISOString()}&to=${new Date(START - 1).toISOString()}`,
        ].map((path) => json(rig.call("GET", `/v1/workspaces/${workspace.id}/${path}`, session))),
      );
    const answers = await read();
    const summed = (await readSeals(workspace))?.summed_seq ?? null;
    await saveSummed(workspace, null);
    assert.deepEqual(answers, await read());
    await saveSummed(workspace, summed);
  }

  it("are not complete after a first seal, if there are requests from before the seals", async () => {
    const { workspace, send } = await open();
    await send({ id: 0, branch: "main", tokens: 7 }, { id: 1, branch: null, tokens: 7 });
    for (const own of ["cost_seals", "cost_seal_heads", "usage_branches"])
      await sql`delete from ${sql.table(own)} where workspace_id = ${workspace.id}::uuid`.execute(rig.db);
    await send({ id: 2, branch: "topic", tokens: 7 });
    assert.equal((await readSeals(workspace))?.summed_seq, null);
    await assertAnswersByModel(workspace);
    await resumeTasks(rig.db, rig.clock.now());
    assert.deepEqual(await readSeals(workspace), { seq: "1", summed_seq: "1" });
    await assertAnswersByModel(workspace);
  });

  it("are added once by processes that sum them up at the same time", async () => {
    const { workspace, send } = await open();
    await send(...Array.from({ length: 12 }, (_, id) => ({ id, branch: "main", tokens: 7 })));
    for (let round = 0; round < 5; round += 1) {
      await sql`delete from usage_branches where workspace_id = ${workspace.id}::uuid`.execute(rig.db);
      await saveSummed(workspace, null);
      await askToSum(workspace);
      await Promise.all([1, 2, 3].map(() => resumeTasks(rig.db, rig.clock.now())));
      const { stored, expected } = await readBoth(workspace);
      assert.deepEqual(stored, expected);
    }
  });

  it("are those of all requests, after any operations", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 8 }), async (operations) => {
        const { workspace, ids, send } = await open();
        let isExact = true;
        for (const each of operations) {
          if (each.kind === "send" && each.records.length > 0) await send(...each.records);
          if (each.kind === "erase")
            await inScope(
              rig.db,
              { workspaceId: workspace.id, readsThenWrites: true },
              (trx) => blankRequests(trx, workspace.id, sql`request_id = ${ids[each.id]}::uuid`),
              "meter_purge",
            );
          if (each.kind === "oldVersion") {
            await sendAsOldVersion(workspace, () => send({ ...each.sent, branch: null }));
            isExact = false;
          }
          if (each.kind === "sum") {
            await askToSum(workspace);
            await resumeTasks(rig.db, rig.clock.now());
            isExact = true;
          }
          if (isExact) {
            const { stored, expected } = await readBoth(workspace);
            assert.deepEqual(stored, expected);
            const seals = await readSeals(workspace);
            assert.equal(seals?.summed_seq, seals?.seq);
          }
        }
        await assertAnswer(workspace);
        await assertAnswersByModel(workspace);
      }),
      { numRuns: propertyRuns(engine.name === "pglite" ? 6 : 10) },
    );
  });

  it("are read once the days of the previous version are summed up, and refused for more than 31 such days", async () => {
    const { workspace, send } = await open();
    await send(...Array.from({ length: 12 }, (_, id) => ({ id, branch: "main", tokens: 7 })));
    const days = Array.from({ length: 33 }, (_, day) =>
      record(rig.uuid(), { requested_at: new Date(START - day * DAY).toISOString(), git_branch: "topic" }),
    );
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(...days));
    await sql`delete from usage_branches where workspace_id = ${workspace.id}::uuid`.execute(rig.db);
    const session = await rig.sessionFor(workspace.userId);
    const get = (query: string) => rig.call("GET", `/v1/workspaces/${workspace.id}/usage?${query}`, session);
    const refused = await get("period=90d&by=branch&compare=none");
    assert.deepEqual([refused.status, (await json(refused)).code], [422, "period_too_long"]);
    assert.equal((await get("period=30d&by=branch&compare=none")).status, 200);
    await askToSum(workspace);
    await resumeTasks(rig.db, rig.clock.now());
    await assertAnswer(workspace);
    await assertAnswersByModel(workspace);
    assert.deepEqual(await listTasks(workspace), [{ kind: "sum_branches", due_at: rig.clock.now() + DAY }]);
    rig.clock.advance(DAY);
    await resumeTasks(rig.db, rig.clock.now());
    assert.deepEqual(await listTasks(workspace), []);
  });

  it("by model are asked for again by the next batch after one of the previous version", async () => {
    const { workspace, send } = await open();
    await send({ id: 0, branch: "main", tokens: 7 });
    await sendAsOldVersion(workspace, () => send({ id: 1, branch: "main", tokens: 7 }));
    await assertAnswersByModel(workspace);
    await send({ id: 2, branch: "main", tokens: 7 });
    assert.deepEqual(await readSeals(workspace), { seq: "3", summed_seq: "1" });
    // One batch in 61 asks.
    assert.deepEqual(await listTasks(workspace), []);
    await sql`update cost_seal_heads set seq = 61 where workspace_id = ${workspace.id}::uuid`.execute(rig.db);
    await send({ id: 3, branch: "main", tokens: 7 });
    assert.deepEqual(await listTasks(workspace), [{ kind: "sum_models", due_at: rig.clock.now() }]);
    await resumeTasks(rig.db, rig.clock.now());
    assert.deepEqual(await readSeals(workspace), { seq: "62", summed_seq: "62" });
    const { stored, expected } = await readBoth(workspace);
    const byModel = (rows: readonly unknown[]) =>
      rows.filter((row) => (row as { span_hours: number }).span_hours < 0);
    assert.deepEqual(byModel(stored), byModel(expected));
    assert.deepEqual(await listTasks(workspace), []);
  });

  it("by model are not complete if a cluster lost what was added", async () => {
    const { workspace, send } = await open();
    await send({ id: 0, branch: "main", tokens: 7 });
    await sql`delete from usage_branches where workspace_id = ${workspace.id}::uuid and span_hours < 0`.execute(
      rig.db,
    );
    await saveSummed(workspace, null);
    await inScope(rig.db, {}, (trx) => addTask(trx, "sum_models", workspace.id, {}, rig.clock.now()));
    losses.loses = (statement) => /insert into usage_branches/.test(statement);
    await runSumming(workspace);
    losses.loses = noLosses;
    assert.deepEqual(await readSeals(workspace), { seq: "1", summed_seq: null });
    assert.deepEqual(await listTasks(workspace), [{ kind: "sum_models", due_at: rig.clock.now() + HOUR }]);
    await runSumming(workspace);
    assert.deepEqual(await readSeals(workspace), { seq: "1", summed_seq: "1" });
    assert.deepEqual(await listTasks(workspace), []);
  });

  // PGlite has one connection.
  if (engine.name === "pglite") return;

  it("by model are compared while batches are stored, and are complete afterwards", async () => {
    const { workspace, send } = await open();
    await send({ id: 0, branch: "main", tokens: 7 });
    const statuses: number[] = [];
    const compared = await sumModelsWhile(workspace, async () => {
      const { status } = await send({ id: 1 + statuses.length, branch: "main", tokens: 7 });
      statuses.push(status);
    });
    assert.deepEqual(statuses, Array(compared).fill(200));
    assert.ok(compared > 0);
    const seq = `${1 + compared}`;
    assert.deepEqual(await readSeals(workspace), { seq, summed_seq: seq });
    const { stored, expected } = await readBoth(workspace);
    assert.deepEqual(stored, expected);
  });

  it("by model are tried again after an hour if the previous version stored requests meanwhile", async () => {
    const { workspace, send } = await open();
    await send({ id: 0, branch: "main", tokens: 7 });
    await sumModelsWhile(workspace, async () => {
      if ((await readSeals(workspace))?.seq !== "1") return;
      await sendAsOldVersion(workspace, () => send({ id: 1, branch: "main", tokens: 7 }));
      // Another process completes the sums before the previous version stores requests again.
      await runSumming(workspace);
      assert.deepEqual(await readSeals(workspace), { seq: "2", summed_seq: "2" });
      await inScope(rig.db, {}, (trx) => addTask(trx, "sum_models", workspace.id, {}, rig.clock.now()));
      await sendAsOldVersion(workspace, () => send({ id: 2, branch: "main", tokens: 7 }));
    });
    assert.deepEqual(await readSeals(workspace), { seq: "3", summed_seq: "2" });
    await assertAnswersByModel(workspace);
    assert.deepEqual(await listTasks(workspace), [{ kind: "sum_models", due_at: rig.clock.now() + HOUR }]);
    rig.clock.advance(HOUR);
    await resumeTasks(rig.db, rig.clock.now());
    assert.deepEqual(await readSeals(workspace), { seq: "3", summed_seq: "3" });
    await assertAnswersByModel(workspace);
    assert.deepEqual(await listTasks(workspace), []);
  });
});
