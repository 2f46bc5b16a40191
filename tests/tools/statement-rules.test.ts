import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { loadParser } from "../../tools/statement-parser.ts";
import { checkStatement, checkTransaction } from "../../tools/statement-rules.ts";

/** A statement with the rules that it breaks. */
const ROWS: readonly (readonly [statement: string, broken: readonly string[]])[] = [
  ["select * from requests where workspace_id = $1::uuid and model = 'x'", []],
  ["select * from requests where model = 'x'", ["unbound requests"]],
  ["select * from requests where workspace_id = $1 or model = 'x'", ["unbound requests"]],
  ["select * from requests where workspace_id in ($1, $2)", ["unbound requests"]],
  ["select * from organisations where name = $1", []],
  [
    "select * from requests r left join machines m on m.workspace_id = r.workspace_id where r.workspace_id = $1",
    [],
  ],
  [
    "select * from requests r left join machines m on m.machine_id = r.machine_id where r.workspace_id = $1",
    ["unbound machines"],
  ],
  [
    "select * from machines m where m.workspace_id = $1 and exists (select from sync_keys k where k.workspace_id = m.workspace_id)",
    ["unbound sync_keys"],
  ],
  [
    "select * from machines m where m.workspace_id = $1 and exists (select from sync_keys k where k.workspace_id = $1)",
    [],
  ],
  ["select 1 from requests where workspace_id = $1 union all select 1 from machines", ["unbound machines"]],
  ["with own as (select * from requests where workspace_id = $1) select * from own", []],
  ["with own as (select * from requests) select * from own", ["unbound requests"]],
  ["update requests r set model = i.model from (select 1 as model) i where r.workspace_id = $1", []],
  ["update requests set model = $1", ["unbound requests"]],
  [
    "delete from requests where ctid = any (array(select ctid from requests where workspace_id = $1))",
    ["unbound requests"],
  ],
  ["insert into machines (machine_id, workspace_id) values ($1, $2)", []],
  ["insert into machines (machine_id) values ($1)", ["unbound machines"]],
  [
    "insert into machines (workspace_id, machine_id) values ($1, gen_random_uuid())",
    ["volatile_insert gen_random_uuid into machines"],
  ],
  [
    "update pairing_sessions set claim = gen_random_uuid()",
    ["volatile_change gen_random_uuid in pairing_sessions"],
  ],
  ["update pairing_sessions set claim = $1", []],
  [
    "insert into machines as m (workspace_id) values ($1) on conflict do update set label = encode(($2::text || m.label)::bytea, 'hex')",
    [],
  ],
  [
    "insert into machines as m (workspace_id) values ($1) on conflict do update set label = convert_to(m.label || (m.n + 1), 'UTF8')",
    ["mutable_update convert_to into machines", "mutable_update || into machines"],
  ],
  [
    "insert into machines (workspace_id) select $1::uuid from (select 1) as one",
    ["insert_select machines", "pulled_insert machines"],
  ],
  [
    "insert into machines (workspace_id) select w.workspace_id from workspaces w cross join (select 1) as one where w.workspace_id = $1",
    ["insert_select machines"],
  ],
  [
    "with i as (insert into organisations (name) values ('x') returning 1) select * from i",
    ["write_in_with i"],
  ],
  ["select pg_advisory_xact_lock($1)", ["node_lock pg_advisory_xact_lock"]],
  ["select pg_try_advisory_xact_lock($1) as held", ["node_lock pg_try_advisory_xact_lock"]],
  ["select json_array_elements_text($1)::uuid", ["cast_of_set json_array_elements_text"]],
  ["select x::uuid from (select json_array_elements_text($1) as x) as e", []],
  ["select set_config('meter.workspace_id', $1, true)", ['set_config "meter.workspace_id"']],
  ["select set_config('meter.workspace_id', '', true), set_config('role', $1, true)", []],
];

describe("checkStatement()", () => {
  let parse: (statement: string) => unknown;
  before(async () => {
    parse = await loadParser();
  });

  for (const [statement, broken] of ROWS) {
    it(`${broken.length === 0 ? "accepts" : "refuses"} ${statement}`, () => {
      const found = checkStatement(parse(statement)).map(({ rule, subject }) => `${rule} ${subject}`);
      assert.deepEqual(found, broken);
    });
  }
});

describe("checkTransaction()", () => {
  let parse: (statement: string) => unknown;
  before(async () => {
    parse = await loadParser();
  });

  it("accepts writes in a workspace, or on the coordinator, and reads of both", () => {
    for (const statements of [
      [
        "update machines set label = $1 where workspace_id = $2",
        "delete from sync_keys where workspace_id = $2",
      ],
      ["insert into tasks (kind) values ('x')", "update organisations set name = 'x'"],
      ["select 1 from organisations for update", "delete from budgets where workspace_id = $1"],
    ]) {
      assert.deepEqual(checkTransaction(statements.map(parse)), []);
    }
  });

  it("refuses writes in both, also in a common table expression", () => {
    const subject = "organisations, machines";
    const [one, other] = [
      "update organisations set name = 'x'",
      "delete from machines where workspace_id = $1",
    ];
    for (const statements of [
      [one, other],
      [one, `with gone as (${other} returning 1) select * from gone`],
    ]) {
      assert.deepEqual(checkTransaction(statements.map(parse)), [{ rule: "spans_places", subject }]);
    }
  });

  it("refuses a read of a workspace before a write there, unless the scope keeps the workspace in its place", () => {
    const scope = "select set_config('role', $1, true)";
    const read = "select 1 from machines where workspace_id = $1";
    const write = "update sync_keys set scope = $1 where workspace_id = $2";
    const holding = `${scope}, to_regclass('pg_dist_placement') is not null`;
    const found = (...statements: string[]) => checkTransaction(statements.map(parse));
    const subject = "machines, then sync_keys";
    assert.deepEqual(found(scope, read, write), [{ rule: "read_before_write", subject }]);
    for (const transaction of [
      [holding, read, write],
      [scope, write, read],
      [scope, read],
    ])
      assert.deepEqual(found(...transaction), []);
  });
});
