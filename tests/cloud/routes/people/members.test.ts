import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { createRandomBytes } from "../../../../adapters/crypto/node-crypto.ts";
import { MAX_WAITING_INVITATIONS } from "../../../../cloud/store/invitations.ts";
import { MAX_WORKSPACES } from "../../../../cloud/store/organisations.ts";
import { parseWire } from "../../../../core/wire/parse.ts";
import {
  invitationCreatedSchema,
  invitationsSchema,
  membersSchema,
  organisationMembersSchema,
} from "../../../../core/wire/people.ts";
import { auditOf } from "../../kit/audit.ts";
import {
  batch,
  type CloudRig,
  createRig,
  json,
  record,
  START,
  type TestPerson,
  type TestWorkspace,
} from "../../kit/cloud-rig.ts";
import { describeOnOneEngine, describeOnPostgres } from "../../kit/engines.ts";

const config = { rateLimits: { perUser: 1e6, perKey: 1e6 } };
const DAY_MS = 86_400_000;

async function emailOf(rig: CloudRig, userId: string): Promise<string> {
  return (await rig.accounts.getPeople([userId])).get(userId)?.email ?? "";
}

/** Invites a person and returns the token of the link. */
async function invite(
  rig: CloudRig,
  workspace: TestWorkspace,
  by: TestPerson,
  email: string,
  role = "member",
): Promise<string> {
  const answer = await rig.call("POST", `/v1/workspaces/${workspace.id}/invitations`, by.token, {
    email,
    role,
  });
  assert.equal(answer.status, 201);
  const said = await json(answer);
  assert.ok(parseWire(invitationCreatedSchema, said).ok);
  return said.link.split("#")[1];
}

const accept = (rig: CloudRig, token: string, session: string) =>
  rig.call("POST", "/v1/invitations/accept", session, { token });

describeOnOneEngine("members", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  const setUp = async () => {
    const workspace = await rig.addWorkspace({ plan: "team" });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const newcomer = await rig.addPerson("New");
    return {
      workspace,
      admin,
      members: `/v1/workspaces/${workspace.id}/members`,
      newcomer: {
        userId: newcomer,
        token: await rig.sessionFor(newcomer),
        email: await emailOf(rig, newcomer),
      },
    };
  };

  it("join by an invitation, which works once and only for its address", async () => {
    const { workspace, admin, newcomer, members } = await setUp();
    const token = await invite(rig, workspace, admin, newcomer.email.toUpperCase());
    const mail = rig.mails.at(-1);
    assert.equal(mail?.to, newcomer.email);
    assert.ok(mail?.text.includes(token));
    const waiting = await json(rig.call("GET", `/v1/workspaces/${workspace.id}/invitations`, admin.token));
    assert.ok(parseWire(invitationsSchema, waiting).ok);
    assert.deepEqual(
      waiting.items.map(({ email }: { email: string }) => email),
      [newcomer.email],
    );
    assert.ok(!JSON.stringify(waiting).includes(token.slice(-20)));

    const other = await rig.personIn(workspace, "stranger");
    assert.equal((await json(accept(rig, token, other.token))).code, "invitation_unknown");
    const joined = await accept(rig, token, newcomer.token);
    assert.equal(joined.status, 200);
    assert.deepEqual(
      [(await json(joined)).id, (await rig.call("GET", members, newcomer.token)).status],
      [workspace.id, 200],
    );
    assert.equal((await json(accept(rig, token, newcomer.token))).code, "invitation_unknown");
    const kinds = (await auditOf(rig, workspace.id)).map(([kind, userId]) => [kind, userId]);
    assert.deepEqual(kinds, [
      ["member_invited", admin.userId],
      ["member_joined", newcomer.userId],
    ]);
  });

  it("cannot join by an invitation that expired, was revoked, was replaced or has one character changed", async () => {
    const { workspace, admin, newcomer } = await setUp();
    const refused = async (token: string) =>
      assert.equal((await json(accept(rig, token, newcomer.token))).code, "invitation_unknown");
    const first = await invite(rig, workspace, admin, newcomer.email);
    const second = await invite(rig, workspace, admin, newcomer.email);
    await refused(first);
    await refused(`${second.slice(0, -1)}${second.endsWith("A") ? "B" : "A"}`);
    for (const none of ["x", second.replace("invite", "sync"), `${second} `]) await refused(none);
    const path = `/v1/workspaces/${workspace.id}/invitations`;
    const [{ id }] = (await json(rig.call("GET", path, admin.token))).items;
    assert.equal((await rig.call("DELETE", `${path}/${id}`, admin.token)).status, 204);
    assert.equal((await rig.call("DELETE", `${path}/${id}`, admin.token)).status, 404);
    await refused(second);
    const late = await invite(rig, workspace, admin, newcomer.email);
    rig.clock.advance(7 * DAY_MS);
    await refused(late);
    assert.deepEqual((await json(rig.call("GET", path, admin.token))).items, []);
  });

  it("join by the link of a resent invitation, and not by the earlier one", async () => {
    const { workspace, admin, newcomer } = await setUp();
    const member = await rig.personIn(workspace, "member");
    const first = await invite(rig, workspace, admin, newcomer.email);
    const path = `/v1/workspaces/${workspace.id}/invitations`;
    const [before] = (await json(rig.call("GET", path, admin.token))).items;
    rig.clock.advance(6 * DAY_MS);
    assert.equal((await rig.call("POST", `${path}/${before.id}/resend`, member.token)).status, 403);
    const mails = rig.mails.length;
    const resent = await json(rig.call("POST", `${path}/${before.id}/resend`, admin.token));
    assert.ok(parseWire(invitationCreatedSchema, resent).ok);
    assert.deepEqual(
      [resent.id, resent.created_at, resent.mailed, rig.mails.length - mails],
      [before.id, before.created_at, true, 1],
    );
    assert.equal(Date.parse(resent.expires_at), rig.clock.now() + 7 * DAY_MS);
    assert.equal((await json(accept(rig, first, newcomer.token))).code, "invitation_unknown");
    assert.equal((await accept(rig, resent.link.split("#")[1], newcomer.token)).status, 200);
    // It was accepted, so it can't be sent again.
    for (const id of [before.id, rig.uuid(), "x"])
      assert.equal((await rig.call("POST", `${path}/${id}/resend`, admin.token)).status, 404);
    const other = await setUp();
    await invite(rig, other.workspace, other.admin, "someone@example.com");
    const theirs = `/v1/workspaces/${other.workspace.id}/invitations`;
    const [{ id: foreign }] = (await json(rig.call("GET", theirs, other.admin.token))).items;
    assert.equal((await rig.call("POST", `${path}/${foreign}/resend`, admin.token)).status, 404);
    assert.deepEqual(
      (await auditOf(rig, workspace.id)).map(([kind]) => kind),
      ["member_invited", "invitation_resent", "member_joined"],
    );
  });

  it("get at most ten emails with invitations to a workspace in a day, by any route", async () => {
    const { workspace, admin, newcomer } = await setUp();
    const path = `/v1/workspaces/${workspace.id}/invitations`;
    const mails = rig.mails.length;
    const send = (email: string) => rig.call("POST", path, admin.token, { email });
    for (let turn = 0; turn < 5; turn += 1) {
      const { id } = await json(send(newcomer.email));
      assert.equal((await rig.call("POST", `${path}/${id}/resend`, admin.token)).status, 200);
    }
    const [{ id }] = (await json(rig.call("GET", path, admin.token))).items;
    for (const refused of [
      await send(newcomer.email),
      await send(newcomer.email.toUpperCase()),
      await rig.call("POST", `${path}/${id}/resend`, admin.token),
    ]) {
      assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "86400"]);
      assert.equal((await json(refused)).code, "too_many_emails");
    }
    assert.equal(rig.mails.length - mails, 10);
    assert.equal((await send("somebody@example.com")).status, 201);
    const other = await setUp();
    await invite(rig, other.workspace, other.admin, newcomer.email);
    rig.clock.advance(DAY_MS);
    assert.equal((await rig.call("POST", `${path}/${id}/resend`, admin.token)).status, 200);
  });

  it("do not learn from the answer to an invitation who has an account", async () => {
    const { workspace, admin, newcomer } = await setUp();
    const path = `/v1/workspaces/${workspace.id}/invitations`;
    const shape = async (email: string) => {
      const answer = await rig.call("POST", path, admin.token, { email });
      const said = await json(answer);
      const { id: _, link: __, email: ___, ...rest } = said;
      return [answer.status, rest];
    };
    assert.deepEqual(await shape(newcomer.email), await shape("nobody@example.com"));
    for (const email of ["", "x", "a@b", "a b@example.com", "a@example.com\r\nBcc: b@example.com", 7, null]) {
      assert.equal((await rig.call("POST", path, admin.token, { email })).status, 422, String(email));
    }
  });

  it("get 403 for their keys after their removal, and can use the same keys after a new invitation", async () => {
    const { workspace, admin, newcomer, members } = await setUp();
    await accept(rig, await invite(rig, workspace, admin, newcomer.email, "admin"), newcomer.token);
    const machineId = await rig.addMachine(workspace);
    const key = await rig.addKey(workspace, { userId: newcomer.userId, machineId });
    const adminKey = await rig.addKey(workspace, { scope: "admin", userId: newcomer.userId });
    const send = () => rig.call("POST", "/v1/requests/batch", key, batch(record(rig.uuid())));
    assert.equal((await send()).status, 200);
    // Their own invitations are revoked with them.
    const backDoor = await rig.addPerson("Back");
    const backToken = await invite(rig, workspace, newcomer, await emailOf(rig, backDoor), "admin");

    assert.equal((await rig.call("DELETE", `${members}/${newcomer.userId}`, admin.token)).status, 204);
    assert.equal((await json(send())).code, "not_a_member");
    assert.equal((await rig.call("GET", members, newcomer.token)).status, 404);
    assert.equal((await accept(rig, backToken, await rig.sessionFor(backDoor))).status, 404);
    assert.equal((await rig.call("DELETE", `${members}/${newcomer.userId}`, admin.token)).status, 404);

    await accept(rig, await invite(rig, workspace, admin, newcomer.email), newcomer.token);
    assert.equal((await send()).status, 200);
    // They return in the role of the invitation, without their admin keys.
    assert.equal((await rig.call("GET", "/v1/me", adminKey)).status, 401);
    const list = await json(rig.call("GET", members, admin.token));
    assert.ok(parseWire(membersSchema, list).ok);
    const back = list.items.find((one: { user_id: string }) => one.user_id === newcomer.userId);
    assert.deepEqual([back.role, back.via, back.name], ["member", "workspace", "New"]);
  });

  it("keep their keys and invitations if they administer the organisation, and so cannot be removed from the workspace", async () => {
    const { workspace, admin, newcomer, members } = await setUp();
    const owner = await rig.personIn(workspace, "organisationOwner");
    const key = await rig.addKey(workspace, { scope: "admin", userId: owner.userId });
    const token = await invite(rig, workspace, owner, newcomer.email);
    assert.equal((await rig.call("DELETE", `${members}/${owner.userId}`, admin.token)).status, 404);
    assert.equal((await rig.call("GET", "/v1/me", key)).status, 200);
    assert.equal((await accept(rig, token, newcomer.token)).status, 200);
  });

  it("keep the higher role when an admin accepts an invitation as a member", async () => {
    const { workspace, admin, newcomer, members } = await setUp();
    await accept(rig, await invite(rig, workspace, admin, newcomer.email, "admin"), newcomer.token);
    await accept(rig, await invite(rig, workspace, admin, newcomer.email, "member"), newcomer.token);
    const { items } = await json(rig.call("GET", members, admin.token));
    assert.equal(items.find((one: { user_id: string }) => one.user_id === newcomer.userId).role, "admin");
  });

  it("cannot promote themselves or remove others, but can leave", async () => {
    const { workspace, admin, members } = await setUp();
    const [one, other] = [await rig.personIn(workspace, "member"), await rig.personIn(workspace, "member")];
    for (const [method, who, body] of [
      ["PATCH", one.userId, { role: "admin" }],
      ["PATCH", admin.userId, { role: "member" }],
      ["DELETE", other.userId, undefined],
    ] as const) {
      assert.equal((await rig.call(method, `${members}/${who}`, one.token, body)).status, 403);
    }
    const path = `/v1/workspaces/${workspace.id}/invitations`;
    assert.equal((await rig.call("POST", path, one.token, { email: "a@example.com" })).status, 403);
    const role = { role: "owner" };
    assert.equal((await rig.call("PATCH", `${members}/${one.userId}`, admin.token, role)).status, 422);
    assert.equal((await rig.call("DELETE", `${members}/${one.userId}`, one.token)).status, 204);
  });

  it("have no access to other workspaces, even as admins", async () => {
    const { admin } = await setUp();
    const other = await rig.addWorkspace();
    const path = `/v1/workspaces/${other.id}/members/${other.userId}`;
    assert.equal((await rig.call("PATCH", path, admin.token, { role: "admin" })).status, 404);
    assert.equal((await rig.call("DELETE", path, admin.token)).status, 404);
  });
});

describeOnOneEngine("an organisation's people", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  it("are promoted, demoted and removed by an owner, with an event in every workspace", async () => {
    const workspace = await rig.addWorkspace();
    const owner = await rig.personIn(workspace, "organisationOwner");
    const admin = await rig.personIn(workspace, "organisationAdmin");
    const plain = await rig.personIn(workspace, "organisationMember");
    const path = `/v1/organisations/${workspace.organisationId}/members`;
    const list = await json(rig.call("GET", path, admin.token));
    assert.ok(parseWire(organisationMembersSchema, list).ok);
    assert.equal(list.items.length, 3);
    assert.equal((await rig.call("GET", path, plain.token)).status, 403);
    // An admin manages workspaces and cannot make anyone an owner, including themselves.
    for (const person of [admin, plain]) {
      const own = `${path}/${person.userId}`;
      assert.equal((await rig.call("PATCH", own, person.token, { role: "owner" })).status, 403);
      assert.equal((await rig.call("DELETE", `${path}/${owner.userId}`, person.token)).status, 403);
    }
    const of = (person: TestPerson) => `${path}/${person.userId}`;
    assert.equal((await rig.call("PATCH", of(plain), owner.token, { role: "admin" })).status, 204);
    const settings = `/v1/workspaces/${workspace.id}/settings`;
    assert.equal((await rig.call("GET", settings, plain.token)).status, 200);
    assert.equal((await rig.call("DELETE", of(plain), owner.token)).status, 204);
    assert.equal((await rig.call("GET", settings, plain.token)).status, 404);
    assert.deepEqual(
      (await auditOf(rig, workspace.id)).map(([kind, , details]) => [kind, details.role]),
      [
        ["organisation_role_changed", "admin"],
        ["organisation_role_changed", null],
      ],
    );
    assert.equal(
      (await rig.call("GET", path, (await rig.personIn(workspace, "stranger")).token)).status,
      404,
    );
  });

  it("always have at least one owner", async () => {
    const workspace = await rig.addWorkspace();
    const owner = await rig.personIn(workspace, "organisationOwner");
    const path = `/v1/organisations/${workspace.organisationId}/members/${owner.userId}`;
    for (const [method, body] of [
      ["DELETE", undefined],
      ["PATCH", { role: "admin" }],
    ] as const) {
      assert.equal((await json(rig.call(method, path, owner.token, body))).code, "last_owner");
    }
    const second = await rig.personIn(workspace, "organisationOwner");
    assert.equal((await rig.call("DELETE", path, second.token)).status, 204);
  });

  it("return as plain members after their removal", async () => {
    const workspace = await rig.addWorkspace();
    const owner = await rig.personIn(workspace, "organisationOwner");
    const admin = await rig.personIn(workspace, "organisationAdmin");
    const path = `/v1/organisations/${workspace.organisationId}/members`;
    await rig.call("DELETE", `${path}/${admin.userId}`, owner.token);
    const token = await invite(rig, workspace, owner, await emailOf(rig, admin.userId));
    assert.equal((await accept(rig, token, admin.token)).status, 200);
    const { items } = await json(rig.call("GET", path, owner.token));
    assert.equal(items.find((one: { user_id: string }) => one.user_id === admin.userId).role, "member");
    const settings = `/v1/workspaces/${workspace.id}/settings`;
    assert.equal(
      (await rig.call("PATCH", settings, admin.token, { store_prompt_content: true })).status,
      403,
    );
  });

  it("can create their own organisations and workspaces, and none in other people's", async () => {
    const token = await rig.sessionFor(await rig.addPerson());
    const made = await rig.call("POST", "/v1/organisations", token, {
      name: "  Acme  ",
      workspace_name: null,
    });
    assert.equal(made.status, 201);
    const { organisation, workspace } = await json(made);
    assert.deepEqual([organisation.name, workspace.name, workspace.plan], ["Acme", "Acme", "solo"]);
    const second = await rig.call("POST", "/v1/workspaces", token, {
      organisation_id: organisation.id,
      name: "Second",
      plan: "enterprise",
      store_prompt_content: true,
    });
    assert.equal(second.status, 201);
    const { id, plan } = await json(second);
    assert.equal(plan, "solo");
    const settings = await json(rig.call("GET", `/v1/workspaces/${id}/settings`, token));
    assert.equal(settings.store_prompt_content, false);
    const fresh = await rig.db
      .selectFrom("workspaces")
      .select(["data_retention_days", "audit_log_retention_days", "deleted_at"])
      .where("workspace_id", "=", id)
      .executeTakeFirst();
    assert.deepEqual(fresh, { data_retention_days: 365, audit_log_retention_days: 365, deleted_at: null });
    assert.equal((await json(rig.call("GET", "/v1/workspaces", token))).items.length, 2);
    assert.equal((await json(rig.call("GET", "/v1/organisations", token))).items.length, 1);
    const stranger = await rig.sessionFor(await rig.addPerson());
    const body = { organisation_id: organisation.id, name: "Mine" };
    assert.equal((await rig.call("POST", "/v1/workspaces", stranger, body)).status, 404);
    assert.equal((await rig.call("POST", "/v1/organisations", token, { name: "   " })).status, 422);
  });

  it("can create a limited number of workspaces per organisation, not counting deleted ones", async () => {
    const token = await rig.sessionFor(await rig.addPerson());
    const { organisation, workspace } = await json(
      rig.call("POST", "/v1/organisations", token, { name: "Acme" }),
    );
    const others = Array.from({ length: MAX_WORKSPACES - 1 }, (_, at) => ({
      workspace_id: rig.uuid(),
      organisation_id: organisation.id,
      name: `${at}`,
      created_at: START,
    }));
    await rig.db.insertInto("workspaces").values(others).execute();
    const entries = others.map(({ workspace_id, organisation_id }) => ({ workspace_id, organisation_id }));
    // A cluster has no triggers that do this.
    await rig.db
      .insertInto("workspace_directory")
      .values(entries)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const body = { organisation_id: organisation.id, name: "Another" };
    const refused = await rig.call("POST", "/v1/workspaces", token, body);
    assert.deepEqual([refused.status, (await json(refused)).code], [409, "too_many_workspaces"]);
    assert.equal((await rig.call("DELETE", `/v1/workspaces/${workspace.id}`, token)).status, 200);
    assert.equal((await rig.call("POST", "/v1/workspaces", token, body)).status, 201);
  });
});

describeOnPostgres("members, in parallel", (engine) => {
  it("join once when an invitation is accepted 20 times at once, and keep one of two owners who remove each other", async () => {
    const rig = await createRig(engine, { config, database: { maxConnections: 12 } });
    const workspace = await rig.addWorkspace();
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const userId = await rig.addPerson();
    const token = await invite(rig, workspace, admin, await emailOf(rig, userId));
    const session = await rig.sessionFor(userId);
    const answers = await Promise.all(Array.from({ length: 20 }, () => accept(rig, token, session)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);

    const [one, other] = [
      await rig.personIn(workspace, "organisationOwner"),
      await rig.personIn(workspace, "organisationOwner"),
    ];
    const path = `/v1/organisations/${workspace.organisationId}/members`;
    await Promise.all([
      rig.call("DELETE", `${path}/${one.userId}`, other.token),
      rig.call("DELETE", `${path}/${other.userId}`, one.token),
    ]);
    const owners = await rig.db
      .selectFrom("organisation_members")
      .select("user_id")
      .where("organisation_id", "=", workspace.organisationId)
      .where("role", "=", "owner")
      .where("removed_at", "is", null)
      .execute();
    assert.equal(owners.length, 1);
    await rig.close();
  });

  it("have no more pending invitations than allowed, and one per address, when many are invited at once", async () => {
    const rig = await createRig(engine, { config, database: { maxConnections: 12 } });
    const workspace = await rig.addWorkspace({ plan: "team" });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    await rig.db
      .insertInto("invitations")
      .values(
        Array.from({ length: MAX_WAITING_INVITATIONS - 3 }, (_, at) => ({
          workspace_id: workspace.id,
          invitation_id: rig.uuid(),
          token_hash: createRandomBytes()(32),
          email: `w${at}@example.com`,
          role: "member" as const,
          invited_by: admin.userId,
          created_at: START,
          expires_at: START + 7 * DAY_MS,
        })),
      )
      .execute();
    const path = `/v1/workspaces/${workspace.id}/invitations`;
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        rig.call("POST", path, admin.token, { email: at < 4 ? "same@example.com" : `n${at}@example.com` }),
      ),
    );
    const { items } = await json(rig.call("GET", path, admin.token));
    assert.equal(items.length, MAX_WAITING_INVITATIONS);
    assert.equal(new Set(items.map(({ email }: { email: string }) => email)).size, items.length);
    assert.ok(answers.some(({ status }) => status === 409));
    await rig.close();
  });
});
