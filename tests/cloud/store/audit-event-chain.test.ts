import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import {
  headsOf,
  verifyWorkspaceLedgers,
  type WorkspaceHeads,
} from "../../../cloud/ledger/verify-ledgers.ts";
import { addAuditEvent } from "../../../cloud/store/audit-events.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import { type CloudRig, createRig, START } from "../kit/cloud-rig.ts";
import { describeOnOneEngine, describeOnPostgres } from "../kit/engines.ts";

/** Texts that JSON escapes, and that a database could store in another form. */
const DETAILS = { email: 'a"b\\c\n\t\u0001é😀', role: null, version: 3, on: true, "a b": "x", "": "y" };

const write = (rig: CloudRig, workspaceId: string, details: Record<string, string | number> = {}) =>
  inScope(rig.db, { workspaceId }, (trx) =>
    addAuditEvent(
      trx,
      workspaceId,
      "settings_changed",
      { userId: 'ann "the admin"', now: rig.clock.now() },
      { ...DETAILS, ...details },
    ),
  );

async function verify(rig: CloudRig, workspaceId: string, saved: WorkspaceHeads | null = null) {
  const verdict = await verifyWorkspaceLedgers(rig.db, workspaceId, saved, sha256);
  return { heads: headsOf(workspaceId, verdict), events: verdict.audit_events };
}

/** A workspace with four events, and the heads after them. */
async function open(rig: CloudRig) {
  const { id } = await rig.addWorkspace();
  for (let index = 0; index < 4; index += 1) await write(rig, id, { index });
  const { heads } = await verify(rig, id);
  return { id, heads: heads ?? assert.fail() };
}

describeOnOneEngine("the chain of audit events", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine);
  });
  after(() => rig.close());

  it("verifies every event as the database returns it, whatever its content", async () => {
    const { id, heads } = await open(rig);
    const { events } = await verify(rig, id, heads);
    assert.deepEqual(events, {
      ok: true,
      head: { workspace_id: id, seq: 4, hash: heads.audit_events?.hash },
      provenThroughSeq: 4,
      erasedRows: 0,
      caveat: null,
      outsideChain: 0,
    });
  });

  it("finds every detectable change that a superuser makes to the events", async () => {
    const rows: [what: string, statements: string[], withoutHead: string | null, withHead: string][] = [
      [
        "an actor",
        ["update audit_events set actor_user_id = 'eve' where seq = 2 and WS"],
        "row_changed 2",
        "row_changed 2",
      ],
      [
        "a kind",
        ["update audit_events set kind = 'key_created' where seq = 1 and WS"],
        "row_changed 1",
        "row_changed 1",
      ],
      [
        "a time",
        ["update audit_events set at = '2026-11-21T11:59:59.999Z' where seq = 3 and WS"],
        "row_changed 3",
        "row_changed 3",
      ],
      [
        "a detail",
        [`update audit_events set details = details || '{"role": "admin"}' where seq = 2 and WS`],
        "row_changed 2",
        "row_changed 2",
      ],
      [
        "details said to be erased",
        ["update audit_events set details = '{}', erased_at = now() where seq = 2 and WS"],
        "row_changed 2",
        "row_changed 2",
      ],
      [
        "a row deleted",
        ["delete from audit_events where seq = 2 and WS"],
        "out_of_sequence 2",
        "out_of_sequence 2",
      ],
      [
        "the first row deleted",
        ["delete from audit_events where seq = 1 and WS"],
        "out_of_sequence 1",
        "out_of_sequence 1",
      ],
      [
        "a row taken out of the chain",
        ["update audit_events set seq = null where seq = 2 and WS"],
        "out_of_sequence 2",
        "out_of_sequence 2",
      ],
      [
        "a row before the first",
        ["update audit_events set seq = -1 where seq = 4 and WS"],
        "out_of_sequence 1",
        "out_of_sequence 1",
      ],
      [
        "two rows swapped",
        [
          "update audit_events set seq = seq + 10 where seq < 3 and WS",
          "update audit_events set seq = 13 - seq where seq > 10 and WS",
        ],
        "link_broken 1",
        "link_broken 1",
      ],
      ["the tail cut", ["delete from audit_events where seq = 4 and WS"], "tail_cut 4", "tail_cut 4"],
      [
        "the tail and the head cut",
        [
          "delete from audit_events where seq = 4 and WS",
          "update audit_event_heads h set seq = 3, hash = e.hash from audit_events e where e.workspace_id = h.workspace_id and e.seq = 3 and h.WS",
        ],
        null,
        "tail_cut 4",
      ],
      [
        "the head set back",
        [
          "update audit_event_heads h set seq = 3, hash = e.hash from audit_events e where e.workspace_id = h.workspace_id and e.seq = 3 and h.WS",
        ],
        "out_of_sequence 4",
        "out_of_sequence 4",
      ],
      [
        "an event outside the chain",
        [
          "insert into audit_events select workspace_id, gen_random_uuid(), at, kind, actor_user_id, details, retain_until from audit_events where seq = 1 and WS",
        ],
        null,
        "outside_chain 0",
      ],
      [
        "all of it",
        ["delete from audit_events where WS", "delete from audit_event_heads where WS"],
        null,
        "tail_cut 1",
      ],
    ];
    for (const [what, statements, withoutHead, withHead] of rows) {
      const { id, heads } = await open(rig);
      for (const statement of statements) {
        await sql.raw(statement.replace("WS", `workspace_id = '${id}'`)).execute(rig.db);
      }
      const told = async (saved: WorkspaceHeads | null) => {
        const { events } = await verify(rig, id, saved);
        return events.ok ? null : `${events.fault} ${events.seq}`;
      };
      assert.equal(await told(null), withoutHead, what);
      assert.equal(await told(heads), withHead, what);
    }
  });

  it("starts after events from before it, and counts them", async () => {
    const { id } = await rig.addWorkspace();
    await sql`insert into audit_events values (${id}::uuid, ${rig.uuid()}::uuid, ${START}::timestamptz,
      'settings_changed', null, '{}', ${START}::timestamptz)`.execute(rig.db);
    await write(rig, id);
    const { events, heads } = await verify(rig, id);
    assert.ok(events.ok && events.head.seq === 1);
    assert.deepEqual([events.outsideChain, heads?.audit_events?.outside_chain], [1, 1]);
  });

  it("verifies more events than are read at once", async () => {
    const { id } = await rig.addWorkspace();
    await inScope(rig.db, { workspaceId: id }, async (trx) => {
      for (let index = 0; index < 1_001; index += 1) {
        await addAuditEvent(trx, id, "key_created", { userId: null, now: START }, { index });
      }
    });
    const { events } = await verify(rig, id);
    assert.ok(events.ok && events.head.seq === 1_001);
    await sql`update audit_events set kind = 'x' where workspace_id = ${id}::uuid and seq = 1000`.execute(
      rig.db,
    );
    assert.deepEqual((await verify(rig, id)).events, {
      ok: false,
      fault: "row_changed",
      seq: 1_000,
      outsideChain: 0,
    });
  });
});

describeOnPostgres("the chain of audit events under several writers", (engine) => {
  it("links every event to the one before, and leaves none out", async (test) => {
    const rig = await createRig(engine);
    test.after(() => rig.close());
    const { id } = await rig.addWorkspace();
    await Promise.all(Array.from({ length: 40 }, (_, index) => write(rig, id, { index })));
    const { events } = await verify(rig, id);
    assert.ok(events.ok && events.head.seq === 40);
  });
});
