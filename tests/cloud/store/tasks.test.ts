import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { mintToken } from "../../../cloud/access/token.ts";
import { continueErasures, erasePrompts } from "../../../cloud/erasure/run-erasure.ts";
import { verifyWorkspaceLedgers } from "../../../cloud/ledger/verify-ledgers.ts";
import { runPurge } from "../../../cloud/purge/run-purge.ts";
import { deleteWorkspace, leaveAllOrganisations } from "../../../cloud/store/deletions.ts";
import { listErasureTasks } from "../../../cloud/store/erasures.ts";
import { acceptInvitation, addInvitation, renewInvitation } from "../../../cloud/store/invitations.ts";
import { DIRECTORY_TRIGGERS } from "../../../cloud/store/migrations/0021-directory.ts";
import {
  changeOrganisationRole,
  createOrganisation,
  createWorkspace,
  joinOrganisation,
} from "../../../cloud/store/organisations.ts";
import { decidePairing, pollPairing, startPairing } from "../../../cloud/store/pairing.ts";
import { resumeTasks } from "../../../cloud/store/resume-tasks.ts";
import { endTask, MAX_RESUMED, RESUME_AFTER_MS } from "../../../cloud/store/tasks.ts";
import { inScope } from "../../../cloud/store/transaction.ts";
import { listWorkspaces } from "../../../cloud/store/workspaces.ts";
import { PURGE_DELAY_MS } from "../../../core/privacy/deletion/soft-deletion.ts";
import { type CloudRig, createRig } from "../kit/cloud-rig.ts";
import { type Crash, crashingEngine } from "../kit/crashing-engine.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));

/** An organisation with two workspaces, its owner, an admin, and a member of the first workspace. */
interface World {
  readonly organisationId: string;
  readonly workspaceIds: readonly [string, string];
  readonly owner: string;
  readonly admin: string;
  readonly member: string;
}

/** Work with several steps, what it needs before, and how a client or a job continues it after a crash. */
interface Work {
  readonly name: string;
  readonly prepare?: (rig: CloudRig, world: World) => Promise<void>;
  readonly run: (rig: CloudRig, world: World) => Promise<unknown>;
  readonly resume?: (rig: CloudRig, world: World) => Promise<unknown>;
}

const email = (world: World) => `${world.organisationId}@example.com`;
const tokenOf = (world: World) =>
  mintToken("invite", world.workspaceIds[0], (length) => new Uint8Array(length).fill(7), sha256);
const resume = (rig: CloudRig) => resumeTasks(rig.db, rig.clock.now());
const change = (rig: CloudRig, { owner }: World) => ({ userId: owner, now: rig.clock.now() });

const invite = async (rig: CloudRig, world: World) => {
  await addInvitation(
    rig.db,
    world.workspaceIds[0],
    { invitationId: rig.uuid(), email: email(world), role: "member", tokenHash: tokenOf(world).hash },
    change(rig, world),
  );
};

const accept = (rig: CloudRig, world: World) => {
  const person = { userId: `guest-${world.organisationId}`, email: email(world) };
  return acceptInvitation(rig.db, world.workspaceIds[0], tokenOf(world).hash, person, rig.clock.now());
};

const pollHash = (world: World) => new TextEncoder().encode(world.organisationId);

const startAndApprove = async (rig: CloudRig, world: World) => {
  const machine = { fingerprint: null, hostname: "desk", platform: "linux", daemon_version: "0.4.0" };
  const [pairingId, code, now] = [rig.uuid(), world.organisationId.slice(-8), rig.clock.now()];
  await startPairing(rig.db, { pairingId, code, pollHash: pollHash(world), machine, address: null, now });
  const who = { workspaceId: world.workspaceIds[0], userId: world.member, decidedBy: world.owner };
  assert.ok(await decidePairing(rig.db, { code, approved: true, ...who, now }));
};

const poll = (rig: CloudRig, world: World) =>
  pollPairing(rig.db, pollHash(world), {
    now: rig.clock.now(),
    claim: rig.uuid(),
    mint(workspaceId) {
      const { token, hash, prefix } = mintToken("sync", workspaceId, randomBytes, sha256);
      return { keyId: rig.uuid(), token, tokenHash: hash, prefix, promptHashKey: randomBytes(32) };
    },
  });

/** So that the next purge has only this world's work. */
const purgeOthers = async (rig: CloudRig) => {
  rig.clock.advance(3 * PURGE_DELAY_MS);
  await runPurge(rig);
};

const WORK: readonly Work[] = [
  {
    name: "an organisation with its first workspace",
    run: async (rig, world) => {
      const ids = { organisationId: rig.uuid(), workspaceId: rig.uuid() };
      const names = { name: "Second", workspaceName: "Main", ownerUserId: world.member };
      await createOrganisation(rig.db, { ...ids, ...names }, change(rig, world));
    },
  },
  {
    name: "a workspace",
    run: (rig, world) => {
      const { organisationId } = world;
      const fresh = { workspaceId: rig.uuid(), organisationId, name: "Third" };
      return createWorkspace(rig.db, fresh, change(rig, world));
    },
  },
  {
    name: "the deletion of a workspace",
    run: (rig, world) => deleteWorkspace(rig.db, world.workspaceIds[1], change(rig, world)),
  },
  {
    name: "an accepted invitation",
    prepare: invite,
    run: accept,
    // The person got an error, and follows the link again.
    resume: accept,
  },
  {
    name: "a lower role in the organisation",
    run: (rig, world) =>
      changeOrganisationRole(rig.db, world.organisationId, world.admin, "member", change(rig, world)),
  },
  {
    name: "a removal from the organisation",
    run: (rig, world) =>
      changeOrganisationRole(rig.db, world.organisationId, world.member, null, change(rig, world)),
  },
  {
    name: "the deletion of a member's account",
    run: (rig, world) => leaveAllOrganisations(rig.db, world.member, rig.clock.now()),
  },
  {
    name: "the deletion of the only member's account",
    prepare: async (rig, world) => {
      for (const person of [world.admin, world.member])
        await changeOrganisationRole(rig.db, world.organisationId, person, null, change(rig, world));
    },
    run: (rig, world) => leaveAllOrganisations(rig.db, world.owner, rig.clock.now()),
  },
  {
    name: "a paired machine",
    prepare: startAndApprove,
    run: poll,
    resume: poll,
  },
  {
    name: "an erasure of prompts",
    run: async (rig, { workspaceIds: [workspaceId], member }) => {
      await erasePrompts(
        { ...rig.parts, sha256, bodyKeys: rig.bodyKeys },
        { workspaceId, userId: member, project: null },
        member,
      );
      await endErasures(rig);
    },
    resume: async (rig, { workspaceIds: [workspaceId], member }) => {
      const parts = { ...rig.parts, sha256, bodyKeys: rig.bodyKeys };
      const scope = { workspaceId, userId: member, project: null };
      const { rows } = await sql`select 1 from erasures where workspace_id = ${workspaceId}::uuid`.execute(
        rig.db,
      );
      await endErasures(rig);
      // It never began, so the person got an error and asks again.
      if (rows.length > 0) return;
      await erasePrompts(parts, scope, member);
      await endErasures(rig);
    },
  },
  {
    name: "the purge of a workspace",
    prepare: async (rig, world) => {
      await purgeOthers(rig);
      await deleteWorkspace(rig.db, world.workspaceIds[1], change(rig, world));
      rig.clock.advance(PURGE_DELAY_MS);
    },
    run: (rig) => runPurge(rig),
    resume: (rig) => runPurge(rig),
  },
  {
    name: "the purge of an account",
    prepare: async (rig, world) => {
      await purgeOthers(rig);
      await leaveAllOrganisations(rig.db, world.member, rig.clock.now());
      rig.clock.advance(PURGE_DELAY_MS);
    },
    run: (rig) => runPurge(rig),
    resume: (rig) => runPurge(rig),
  },
  {
    name: "an invitation that ended long ago",
    prepare: async (rig, world) => {
      await purgeOthers(rig);
      await invite(rig, world);
      rig.clock.advance(2 * PURGE_DELAY_MS);
    },
    run: resume,
  },
];

/** Continues the erasures and ends their tasks, as the purge job does. */
async function endErasures(rig: CloudRig): Promise<void> {
  rig.clock.advance(RESUME_AFTER_MS);
  const erasures = await listErasureTasks(rig.db, rig.clock.now());
  await continueErasures({ ...rig.parts, sha256, bodyKeys: rig.bodyKeys }, erasures);
  for (const task of erasures) await endTask(rig.db, task);
}

async function makeWorld(rig: CloudRig): Promise<World> {
  const [owner, admin, member] = [rig.uuid(), rig.uuid(), rig.uuid()];
  const [organisationId, one, other] = [rig.uuid(), rig.uuid(), rig.uuid()];
  const made = { userId: owner, now: rig.clock.now() };
  const names = { name: "First", workspaceName: "Main", ownerUserId: owner };
  await createOrganisation(rig.db, { organisationId, workspaceId: one, ...names }, made);
  await createWorkspace(rig.db, { workspaceId: other, organisationId, name: "Other" }, made);
  const world = { organisationId, workspaceIds: [one, other] as const, owner, admin, member };
  await inScope(rig.db, { organisationId }, (trx) =>
    joinOrganisation(trx, organisationId, admin, rig.clock.now()),
  );
  assert.equal(await changeOrganisationRole(rig.db, organisationId, admin, "admin", made), "changed");
  await invite(rig, world);
  const hash = tokenOf(world).hash;
  const joined = await acceptInvitation(
    rig.db,
    one,
    hash,
    { userId: member, email: email(world) },
    rig.clock.now(),
  );
  assert.ok(joined);
  // The next invitation of this world has the same token.
  await sql`update invitations set token_hash = '\\x00' where workspace_id = ${one}::uuid`.execute(rig.db);
  return world;
}

/** What the database holds of a world, without ids and tokens. */
async function stateOf(rig: CloudRig, world: World): Promise<unknown> {
  const people = { [world.owner]: "owner", [world.admin]: "admin", [world.member]: "member" };
  const nameOf = (userId: string) => people[userId] ?? "guest";
  const { rows: workspaces } = await sql<{ workspace_id: string; facts: unknown }>`
    select workspace_id, jsonb_build_object('name', name, 'deleted', deleted_at is not null, 'purged', purged_at is not null,
      'machines', (select count(*) from machines m where m.workspace_id = w.workspace_id),
      'keys', (select count(*) from sync_keys k where k.workspace_id = w.workspace_id and revoked_at is null),
      'invitations', (select count(*) from invitations i where i.workspace_id = w.workspace_id),
      'erasures', (select count(*) from erasures e where e.workspace_id = w.workspace_id and finished_at is not null),
      'events', (select string_agg(kind, ' ' order by seq) from audit_events a where a.workspace_id = w.workspace_id and kind <> 'machine_paired')) as facts
    from workspaces w where organisation_id = ${world.organisationId}::uuid
      or workspace_id in (select d.workspace_id from workspace_directory d join organisation_members o using (organisation_id)
        where o.user_id = ${world.member})
    order by name, created_at, organisation_id <> ${world.organisationId}::uuid`.execute(rig.db);
  const { rows: members } = await sql<{ user_id: string; facts: string }>`
    select user_id, concat(role, ' ', removed_at is not null) as facts from organisation_members
      where organisation_id = ${world.organisationId}::uuid
    union all
    select user_id, concat('of a workspace ', role, ' ', removed_at is not null) from memberships
      where workspace_id in (${sql.join(world.workspaceIds.map((id) => sql`${id}::uuid`))})`.execute(rig.db);
  const { rows: tasks } = await sql`select kind from tasks where kind <> 'forget_invitation'`.execute(rig.db);
  const { rows: pairings } = await sql`select status from pairing_sessions
    where poll_hash = ${pollHash(world)}::bytea`.execute(rig.db);
  const seen = [];
  for (const userId of [world.owner, world.admin, world.member, `guest-${world.organisationId}`])
    seen.push((await listWorkspaces(rig.db, userId)).map(({ name, role }) => `${name} ${role}`));
  for (const { workspace_id } of workspaces) {
    assert.ok((await verifyWorkspaceLedgers(rig.db, workspace_id, null, sha256)).ok);
  }
  return {
    workspaces: workspaces.map(({ facts }) => facts),
    members: members.map(({ user_id, facts }) => `${nameOf(user_id)} ${facts}`).sort(),
    ...{ tasks, pairings, seen },
  };
}

describeOnOneEngine("work whose steps are in several places", (engine) => {
  const crash: Crash = { commitsLeft: Number.POSITIVE_INFINITY, commits: 0 };
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(crashingEngine(engine, crash));
    // As on a cluster: the steps themselves fill the directory.
    if (engine.name === "citus") return;
    for (const [name, table] of Object.entries(DIRECTORY_TRIGGERS))
      await sql.raw(`drop trigger ${name} on ${table}`).execute(rig.db);
  });
  after(() => rig.close());

  /** Runs the work, and lets the process die after `commits` of its commits. Returns how many it made. */
  async function runWith(work: Work, world: World, commits: number): Promise<number> {
    await work.prepare?.(rig, world);
    crash.commits = 0;
    crash.commitsLeft = commits;
    if (commits === Number.POSITIVE_INFINITY) await work.run(rig, world);
    else await assert.rejects(work.run(rig, world), /the process died/);
    crash.commitsLeft = Number.POSITIVE_INFINITY;
    return crash.commits;
  }

  for (const work of WORK) {
    it(`ends in the same state after a crash between any two steps: ${work.name}`, async () => {
      const whole = await makeWorld(rig);
      const steps = await runWith(work, whole, Number.POSITIVE_INFINITY);
      assert.ok(steps >= 2, `${steps} steps`);
      const expected = await stateOf(rig, whole);
      for (let after = 1; after < steps; after += 1) {
        const world = await makeWorld(rig);
        await runWith(work, world, after);
        rig.clock.advance(RESUME_AFTER_MS);
        await (work.resume ?? resume)(rig, world);
        await resume(rig);
        assert.deepEqual(await stateOf(rig, world), expected, `after step ${after} of ${steps}`);
      }
    });
  }

  it("stores a renewed invitation as long as one that begins when it is renewed", async () => {
    await purgeOthers(rig);
    const { workspaceIds, owner } = await makeWorld(rig);
    const [workspaceId, invitationId] = [workspaceIds[1], rig.uuid()];
    const now = () => ({ userId: owner, now: rig.clock.now() });
    const fresh = { email: "zoe@example.com", role: "member", tokenHash: randomBytes(32) } as const;
    await addInvitation(rig.db, workspaceId, { invitationId, ...fresh }, now());
    const dayMs = 86_400_000;
    const isStored = async () => {
      await resume(rig);
      const { rows } =
        await sql`select 1 from invitations where invitation_id = ${invitationId}::uuid`.execute(rig.db);
      return rows.length > 0;
    };
    rig.clock.advance(6 * dayMs);
    assert.ok(await renewInvitation(rig.db, workspaceId, invitationId, randomBytes(32), now()));
    rig.clock.advance(7 * dayMs + PURGE_DELAY_MS - dayMs);
    assert.ok(await isStored());
    rig.clock.advance(dayMs);
    assert.ok(await isStored());
    rig.clock.advance(1);
    assert.ok(!(await isStored()));
  });
});

describeOnOneEngine("resumeTasks()", (engine) => {
  it("reaches a task behind as many that fail as one run resumes", async () => {
    const rig = await createRig(engine);
    try {
      const { id } = await rig.addWorkspace();
      const now = rig.clock.now();
      await sql`insert into tasks (kind, task_id, details, due_at)
        select 'accept_invitation', gen_random_uuid(), '{"workspaceId": "none", "userId": "ann", "now": 0}'::jsonb,
          ${now - 1}::timestamptz
        from generate_series(1, ${MAX_RESUMED}::integer)`.execute(rig.db);
      await sql`insert into tasks (kind, task_id, details, due_at) values ('forget_invitation', ${id}::uuid,
        jsonb_build_object('workspaceId', ${id}::text), ${now}::timestamptz)`.execute(rig.db);
      await assert.rejects(resumeTasks(rig.db, now), RangeError);
      await resumeTasks(rig.db, now);
      const { rows } = await sql<{ kind: string; n: number }>`
        select kind, count(*)::integer as n from tasks group by kind`.execute(rig.db);
      assert.deepEqual(rows, [{ kind: "accept_invitation", n: MAX_RESUMED }]);
      // They are tried again.
      await assert.rejects(resumeTasks(rig.db, now + RESUME_AFTER_MS), RangeError);
    } finally {
      await rig.close();
    }
  });
});
