import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { PERSONAL_REQUEST_COLUMNS, REQUEST_COLUMNS } from "../../../cloud/store/request-columns.ts";
import { wireFields } from "../../../core/values/record-fields.ts";
import { type CloudRig, createRig } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

describeOnOneEngine("the columns of requests", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine);
  });
  after(() => rig.close());

  it("have the types that the table of fields declares, and are nullable except for the required ones", async () => {
    const { rows } = await sql<{ name: string; type: string; nullable: string }>`
      select column_name as name, udt_name as type, is_nullable as nullable from information_schema.columns
      where table_name = 'requests' order by ordinal_position`.execute(rig.db);
    const names: Readonly<Record<string, string>> = { bool: "boolean", int8: "bigint", int4: "integer" };
    const found = new Map(
      rows.map(({ name, type, nullable }) => [name, { type: names[type] ?? type, nullable }]),
    );
    const isRequired = new Set<string>([
      ...wireFields.filter(({ upload }) => upload === "required").map(({ column }) => column),
      ...["received_at", "clock_skewed", "user_id", "cost_source"],
    ]);
    for (const [column, type] of Object.entries(REQUEST_COLUMNS)) {
      assert.deepEqual(found.get(column), { type, nullable: isRequired.has(column) ? "NO" : "YES" }, column);
      found.delete(column);
    }
    assert.deepEqual([...found.keys()], ["workspace_id", "cost_seal"]);
  });

  it("that the purge erases describe the person's sessions, repository, prompt, call and working directory", () => {
    assert.deepEqual(PERSONAL_REQUEST_COLUMNS, [
      ...["session_id", "turn_id", "agent_id", "parent_agent_id", "agent_kind", "client_version"],
      ...["git_branch", "git_commit", "git_remote", "pull_request"],
      ...["prompt_hash", "method", "path", "source_workdir"],
    ]);
  });
});
