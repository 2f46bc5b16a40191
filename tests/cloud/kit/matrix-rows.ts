import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { hashToken } from "../../../cloud/access/token.ts";
import { checkPlan, type PlanFeature } from "../../../core/privacy/plans/plan-table.ts";
import { batch, type CloudRig, record } from "./cloud-rig.ts";
import { type ActorName, startPairing, type TokenKind, type World } from "./matrix-world.ts";

/** One case of the matrix: the caller, their credential and the workspace. */
export interface Case {
  readonly actor: ActorName;
  readonly token: TokenKind | null;
  readonly world: World;
  /**
   * Whether the caller can access the workspace: as a member or an administrator of the organisation, while it is in
   * service.
   */
  readonly reaches: boolean;
  readonly isAdmin: boolean;
}

/** The payload. */
export interface Sent {
  readonly path: string;
  readonly body?: unknown;
}

/**
 * What a route requires of its callers, in the terms of the specification, and its status for those who are allowed.
 */
export interface Row {
  /** `service`: a key whose workspace, machine and owner are in service. `key`: any valid key. */
  readonly needs: "nothing" | "service" | "key" | "person" | "inPerson";
  readonly send: (rig: CloudRig, world: World, question: Case) => Sent | Promise<Sent>;
  /** For a route below a workspace. */
  readonly workspace?: { readonly role?: "admin"; readonly feature?: PlanFeature };
  /** For a route below an organisation: the roles that may call it. */
  readonly organisation?: readonly ActorName[];
  /** The status for allowed callers. */
  readonly answer: number | ((question: Case) => number);
  /** Whether the call takes something away from its caller, so that each allowed caller needs their own world. */
  readonly consumes?: true;
}

const ws =
  (suffix: string, body?: unknown) =>
  (_: CloudRig, { workspace }: World) => ({
    path: `/v1/workspaces/${workspace.id}${suffix}`,
    body,
  });
const at = (path: string, body?: unknown) => () => ({ path, body });
const orgMembers = ({ workspace }: World) => `/v1/organisations/${workspace.organisationId}/members`;

/** Sent with a payload of the wrong shape: the caller is authorised, and nothing changes. */
const UNREAD = 422;

const NOT_OF_IT = ["nobody", "stranger", "member", "author", "workspaceAdmin"] as const;

/** Everyone whom the organisation knows. */
const inOrganisation = (actor: ActorName) => !(NOT_OF_IT as readonly ActorName[]).includes(actor);

const member = { needs: "person", workspace: {} } as const;
const admin = { needs: "person", workspace: { role: "admin" } } as const;

const mayReadBody = ({ actor, reaches, isAdmin, world }: Case) =>
  reaches && (actor === "author" || (isAdmin && checkPlan(world.plan, "readTeammatesBodies").ok));

async function newTarget(rig: CloudRig, world: World): Promise<string> {
  const userId = await rig.addPerson();
  await rig.addMember(world.workspace, userId);
  return userId;
}

async function addInvitation(rig: CloudRig, workspaceId: string): Promise<string> {
  const id = rig.uuid();
  const now = rig.clock.now();
  await rig.db
    .insertInto("invitations")
    .values({
      workspace_id: workspaceId,
      invitation_id: id,
      token_hash: new TextEncoder().encode(id),
      email: `${id}@example.com`,
      role: "member",
      invited_by: "x",
      created_at: now,
      expires_at: now + 1_000,
    })
    .execute();
  return id;
}

/** Adds a budget and returns the path of its routes. */
async function budgetPath(rig: CloudRig, { workspace }: World): Promise<string> {
  const id = rig.uuid();
  await rig.db
    .insertInto("budgets")
    .values({
      ...{ workspace_id: workspace.id, budget_id: id, name: id, subject: "workspace", target: "" },
      ...{ terms: JSON.stringify({ amount: "1 USD" }), is_paused: false },
      ...{ created_by: "x", created_at: rig.clock.now() },
    })
    .execute();
  return `/v1/workspaces/${workspace.id}/budgets/${id}`;
}

/** Adds a shared view of another person and returns the path of its routes. */
async function viewPath(rig: CloudRig, { workspace }: World): Promise<string> {
  const id = rig.uuid();
  await rig.db
    .insertInto("saved_views")
    .values({
      ...{ workspace_id: workspace.id, view_id: id, user_id: "x", name: id, page: "/", query: "" },
      ...{ is_shared: true, created_at: rig.clock.now() },
    })
    .execute();
  return `/v1/workspaces/${workspace.id}/views/${id}`;
}

/** One row for each route of the API. */
export const API_ROWS: Readonly<Record<string, Row>> = {
  "POST /v1/requests/batch": {
    needs: "service",
    send: (rig) => ({ path: "/v1/requests/batch", body: batch(record(rig.uuid())) }),
    answer: 200,
  },
  "POST /v1/requests/:id/body": {
    needs: "service",
    send: (_, { requestId }) => ({
      path: `/v1/requests/${requestId}/body`,
      body: {
        request_id: requestId,
        direction: "response",
        content_type: "text/plain",
        body_b64: "YQ==",
        redaction_applied: false,
        redaction_summary: [],
        original_size_bytes: 1,
      },
    }),
    // A stranger's workspace does not know the id; in this workspace only the author's machine may send it.
    answer: ({ actor, token }) => {
      if (actor === "stranger") return 404;
      return actor === "author" && token === "sync" ? 204 : 403;
    },
  },
  "GET /v1/daemon/ledger-heads": {
    needs: "service",
    send: at("/v1/daemon/ledger-heads?costs=1"),
    answer: 200,
  },
  "GET /v1/daemon/whoami": { needs: "service", send: at("/v1/daemon/whoami"), answer: 200 },
  "DELETE /v1/daemon/key": { needs: "key", send: at("/v1/daemon/key"), answer: 204, consumes: true },
  "GET /v1/pricing/rates": { needs: "service", send: at("/v1/pricing/rates"), answer: 200 },
  "GET /v1/reconciliation/daemon-totals": {
    needs: "service",
    send: at("/v1/reconciliation/daemon-totals?from_date=2026-11-01&to_date=2026-11-21"),
    answer: 200,
  },
  "POST /v1/pairing/start": { needs: "nothing", send: at("/v1/pairing/start", {}), answer: UNREAD },
  "POST /v1/pairing/poll": { needs: "nothing", send: at("/v1/pairing/poll", {}), answer: UNREAD },

  "POST /v1/daemon/limits": {
    needs: "service",
    send: at("/v1/daemon/limits", {
      daemon_version: "1",
      readings: [{ provider: "p", window: "5h", unit: "share", seen_at: "2026-11-21T00:00:00Z" }],
    }),
    answer: 200,
  },
  "POST /v1/daemon/coverage": {
    needs: "service",
    send: at("/v1/daemon/coverage", {
      daemon_version: "1",
      as_of: "2026-11-21T00:30:00Z",
      hours: [{ hour: "2026-11-21T00:00:00Z", metered: 1, seen: 1, counts: [{ kind: "metered", count: 1 }] }],
      runs: [{ from: "2026-11-20T00:00:00Z", to: "2026-11-21T00:00:00Z" }],
    }),
    answer: 200,
  },
  "GET /v1/workspaces/:ws/now": { ...member, send: ws("/now"), answer: 200 },
  "GET /v1/workspaces/:ws/coverage": { ...member, send: ws("/coverage"), answer: 200 },
  "GET /v1/workspaces/:ws/limits": { ...member, send: ws("/limits"), answer: 200 },
  "GET /v1/workspaces/:ws/privacy": { ...member, send: ws("/privacy"), answer: 200 },
  "GET /v1/workspaces/:ws/overview": { ...member, send: ws("/overview"), answer: 200 },
  "GET /v1/workspaces/:ws/analytics": { ...member, send: ws("/analytics?by=model"), answer: 200 },
  "GET /v1/workspaces/:ws/usage": { ...member, send: ws("/usage?by=model"), answer: 200 },
  "GET /v1/workspaces/:ws/usage/values": {
    ...member,
    send: ws("/usage/values?dimension=branch"),
    answer: 200,
  },
  "GET /v1/workspaces/:ws/savings": { ...member, send: ws("/savings?period=7d"), answer: 200 },
  "GET /v1/workspaces/:ws/usage/models": {
    ...member,
    send: ws("/usage/models?models=unpriced"),
    answer: 200,
  },
  "GET /v1/workspaces/:ws/usage/comparison": {
    ...member,
    send: ws("/usage/comparison?as=anthropic/claude-sonnet-4-5"),
    answer: 200,
  },
  "GET /v1/workspaces/:ws/usage/forecast": { ...member, send: ws("/usage/forecast"), answer: 200 },
  "GET /v1/workspaces/:ws/optimisation": { ...member, send: ws("/optimisation"), answer: 200 },
  "GET /v1/workspaces/:ws/traces": { ...member, send: ws("/traces"), answer: 200 },
  "GET /v1/workspaces/:ws/traces/:request_id": {
    ...member,
    send: (_, { workspace, requestId }) => ({ path: `/v1/workspaces/${workspace.id}/traces/${requestId}` }),
    answer: 200,
  },
  "GET /v1/workspaces/:ws/sessions": { ...member, send: ws("/sessions"), answer: 200 },
  // Each answer of 200 would need a session of its own in each world.
  "GET /v1/workspaces/:ws/sessions/:session_id": {
    ...member,
    send: ws(`/sessions/${"0".repeat(32)}`),
    answer: 404,
  },
  "GET /v1/workspaces/:ws/audit/requests": {
    needs: "person",
    workspace: { feature: "auditSurface" },
    send: ws("/audit/requests"),
    answer: 200,
  },
  "GET /v1/workspaces/:ws/audit/events": {
    needs: "person",
    workspace: { role: "admin", feature: "auditSurface" },
    send: ws("/audit/events"),
    answer: 200,
  },
  "GET /v1/workspaces/:ws/audit/prompt-views": {
    needs: "person",
    workspace: { role: "admin", feature: "readPromptViews" },
    send: ws("/audit/prompt-views"),
    answer: 200,
  },
  "GET /v1/traces/:request_id/body": {
    needs: "person",
    send: (_, { requestId }) => ({ path: `/v1/traces/${requestId}/body?reason=matrix` }),
    // The same 403 for everyone else.
    answer: (question) => (mayReadBody(question) ? 200 : 403),
  },
  "GET /v1/workspaces/:ws/audit/verification": {
    needs: "person",
    workspace: { role: "admin", feature: "auditSurface" },
    send: ws("/audit/verification"),
    answer: 200,
  },
  "POST /v1/audit/prompt-views": {
    needs: "person",
    send: (_, { workspace, requestId, people }) => ({
      path: "/v1/audit/prompt-views",
      body: {
        workspace_id: workspace.id,
        request_id: requestId,
        subject_user_id: people.author?.userId,
        reason: "matrix",
      },
    }),
    answer: (question) =>
      mayReadBody(question) && checkPlan(question.world.plan, "writePromptViews").ok ? 201 : 403,
  },
  "GET /v1/consent/checkout": { needs: "nothing", send: at("/v1/consent/checkout"), answer: 200 },
  "POST /v1/consent/checkout": { needs: "inPerson", send: at("/v1/consent/checkout", {}), answer: UNREAD },

  "GET /api/auth/*": { needs: "nothing", send: at("/api/auth/get-session"), answer: 404 },
  "POST /api/auth/*": { needs: "nothing", send: at("/api/auth/sign-in/email", {}), answer: 404 },
  "GET /v1/me": { needs: "person", send: at("/v1/me"), answer: 200 },
  "DELETE /v1/account": { needs: "inPerson", send: at("/v1/account"), answer: 200, consumes: true },
  "GET /v1/workspaces": { needs: "person", send: at("/v1/workspaces"), answer: 200 },
  "POST /v1/workspaces": {
    needs: "inPerson",
    send: (_, { workspace }) => ({
      path: "/v1/workspaces",
      body: { organisation_id: workspace.organisationId, name: "More" },
    }),
    answer: ({ actor }) => {
      if (!inOrganisation(actor)) return 404;
      return actor === "organisationMember" ? 403 : 201;
    },
  },
  "DELETE /v1/workspaces/:ws": {
    needs: "inPerson",
    workspace: {},
    send: ws(""),
    answer: ({ actor }) => (actor === "organisationOwner" ? 200 : 403),
    consumes: true,
  },
  "GET /v1/organisations": { needs: "inPerson", send: at("/v1/organisations"), answer: 200 },
  "POST /v1/organisations": { needs: "inPerson", send: at("/v1/organisations", {}), answer: UNREAD },
  "GET /v1/organisations/:org/members": {
    needs: "inPerson",
    organisation: ["organisationAdmin", "organisationOwner"],
    send: (_, world) => ({ path: orgMembers(world) }),
    answer: 200,
  },
  "PATCH /v1/organisations/:org/members/:user": {
    needs: "inPerson",
    organisation: ["organisationOwner"],
    send: (_, world) => ({
      path: `${orgMembers(world)}/${world.people.organisationMember?.userId}`,
      body: { role: "member" },
    }),
    answer: 204,
  },
  "DELETE /v1/organisations/:org/members/:user": {
    needs: "inPerson",
    organisation: ["organisationOwner"],
    send: async (rig, world) => {
      const { userId } = await rig.personIn(world.workspace, "organisationMember");
      return { path: `${orgMembers(world)}/${userId}` };
    },
    answer: 204,
  },

  "GET /v1/workspaces/:ws/settings": { ...member, send: ws("/settings"), answer: 200 },
  "PATCH /v1/workspaces/:ws/settings": {
    ...admin,
    send: ws("/settings", { store_prompt_content: true }),
    answer: 200,
  },
  "GET /v1/workspaces/:ws/settings/advanced": {
    needs: "person",
    workspace: { feature: "advancedSettings" },
    send: ws("/settings/advanced"),
    answer: 200,
  },
  "PATCH /v1/workspaces/:ws/settings/advanced": {
    needs: "person",
    workspace: { role: "admin", feature: "advancedSettings" },
    send: ws("/settings/advanced", { data_retention_days: 365 }),
    answer: 200,
  },
  "GET /v1/workspaces/:ws/members": { ...member, send: ws("/members"), answer: 200 },
  "PATCH /v1/workspaces/:ws/members/:user": {
    ...admin,
    send: (_, { workspace, people }) => ({
      path: `/v1/workspaces/${workspace.id}/members/${people.member?.userId}`,
      body: { role: "member" },
    }),
    answer: 204,
  },
  "DELETE /v1/workspaces/:ws/members/:user": {
    ...admin,
    send: async (rig, world) => ({
      path: `/v1/workspaces/${world.workspace.id}/members/${await newTarget(rig, world)}`,
    }),
    answer: 204,
  },
  "GET /v1/workspaces/:ws/invitations": { ...admin, send: ws("/invitations"), answer: 200 },
  "POST /v1/workspaces/:ws/invitations": {
    ...admin,
    send: ws("/invitations", { email: "matrix@example.com", role: "admin" }),
    answer: 201,
  },
  "DELETE /v1/workspaces/:ws/invitations/:id": {
    ...admin,
    send: async (rig, { workspace }) => ({
      path: `/v1/workspaces/${workspace.id}/invitations/${await addInvitation(rig, workspace.id)}`,
    }),
    answer: 204,
  },
  "POST /v1/workspaces/:ws/invitations/:id/resend": {
    ...admin,
    send: async (rig, { workspace }) => ({
      path: `/v1/workspaces/${workspace.id}/invitations/${await addInvitation(rig, workspace.id)}/resend`,
    }),
    answer: 200,
  },
  "POST /v1/invitations/accept": {
    needs: "inPerson",
    send: at("/v1/invitations/accept", {}),
    answer: UNREAD,
  },
  "GET /v1/workspaces/:ws/machines": { ...member, send: ws("/machines"), answer: 200 },
  "PATCH /v1/workspaces/:ws/machines/:id": {
    ...admin,
    send: (_, { workspace }) => ({
      path: `/v1/workspaces/${workspace.id}/machines/${workspace.machineId}`,
      body: { user_id: workspace.userId },
    }),
    answer: 204,
  },
  ...Object.fromEntries(
    ["block", "invite"].map((verb): [string, Row] => [
      `POST /v1/workspaces/:ws/machines/:id/${verb}`,
      {
        ...admin,
        send: (_, { workspace }) => ({
          path: `/v1/workspaces/${workspace.id}/machines/${workspace.machineId}/${verb}`,
        }),
        answer: 204,
      },
    ]),
  ),
  "GET /v1/daemon/budgets": { needs: "service", send: at("/v1/daemon/budgets"), answer: 200 },
  "GET /v1/workspaces/:ws/budgets": { ...member, send: ws("/budgets"), answer: 200 },
  "POST /v1/workspaces/:ws/budgets": {
    ...admin,
    workspace: { role: "admin", feature: "fleetBudgets" },
    send: (rig, { workspace }) => ({
      path: `/v1/workspaces/${workspace.id}/budgets`,
      // A project of its own, so that the budget binds none of the other rows' calls.
      body: { name: rig.uuid(), subject: "project", target: "p", amount: "1 USD" },
    }),
    answer: 201,
  },
  "PATCH /v1/workspaces/:ws/budgets/:id": {
    ...admin,
    workspace: { role: "admin", feature: "fleetBudgets" },
    send: async (rig, world) => ({ path: await budgetPath(rig, world), body: { amount: "2 USD" } }),
    answer: 204,
  },
  ...Object.fromEntries(
    ["pause", "resume", "lift"].map((verb): [string, Row] => [
      `POST /v1/workspaces/:ws/budgets/:id/${verb}`,
      {
        ...admin,
        send: async (rig, world) => ({
          path: `${await budgetPath(rig, world)}/${verb}`,
          ...(verb === "lift" && { body: { minutes: 5, reason: "why" } }),
        }),
        answer: 204,
      },
    ]),
  ),
  "DELETE /v1/workspaces/:ws/budgets/:id": {
    ...admin,
    send: async (rig, world) => ({ path: await budgetPath(rig, world) }),
    answer: 204,
  },
  "GET /v1/workspaces/:ws/weekly-summary": {
    needs: "inPerson",
    workspace: {},
    send: ws("/weekly-summary"),
    answer: 200,
  },
  "PATCH /v1/workspaces/:ws/weekly-summary": {
    needs: "inPerson",
    workspace: {},
    send: ws("/weekly-summary", { enabled: false }),
    answer: 204,
  },
  "GET /v1/workspaces/:ws/views": { ...member, send: ws("/views"), answer: 200 },
  "POST /v1/workspaces/:ws/views": {
    ...member,
    send: (rig, { workspace }) => ({
      path: `/v1/workspaces/${workspace.id}/views`,
      body: { name: rig.uuid(), page: "/explore", query: "by=provider" },
    }),
    answer: 201,
  },
  "PATCH /v1/workspaces/:ws/views/:id": {
    ...member,
    send: async (rig, world) => ({ path: await viewPath(rig, world), body: { shared: true } }),
    answer: ({ isAdmin }) => (isAdmin ? 204 : 403),
  },
  "DELETE /v1/workspaces/:ws/views/:id": {
    ...member,
    send: async (rig, world) => ({ path: await viewPath(rig, world) }),
    answer: ({ isAdmin }) => (isAdmin ? 204 : 403),
  },
  "GET /v1/workspaces/:ws/keys": { ...member, send: ws("/keys"), answer: 200 },
  "POST /v1/workspaces/:ws/keys": {
    needs: "inPerson",
    workspace: { role: "admin" },
    send: ws("/keys"),
    answer: 201,
  },
  "DELETE /v1/workspaces/:ws/keys/:id": {
    ...member,
    // Another person's key does not exist for a member.
    send: async (rig, { workspace }) => {
      const token = await rig.addKey(workspace, { machineId: await rig.addMachine(workspace) });
      const { key_id } = await rig.db
        .selectFrom("sync_keys")
        .select("key_id")
        .where("token_hash", "=", hashToken(token, sha256))
        .executeTakeFirstOrThrow();
      return { path: `/v1/workspaces/${workspace.id}/keys/${key_id}` };
    },
    answer: ({ isAdmin }) => (isAdmin ? 204 : 404),
  },
  "GET /v1/pairing/codes/:code": {
    needs: "inPerson",
    send: async (rig) => ({ path: `/v1/pairing/codes/${await startPairing(rig)}` }),
    answer: 200,
  },
  ...Object.fromEntries(
    ["approve", "deny"].map((verb): [string, Row] => [
      `POST /v1/pairing/${verb}`,
      {
        needs: "inPerson",
        send: async (rig, { workspace }) => ({
          path: `/v1/pairing/${verb}`,
          body: { code: await startPairing(rig), workspace_id: workspace.id },
        }),
        answer: ({ reaches }) => (reaches ? 204 : 404),
      },
    ]),
  ),
  "GET /openapi.json": { needs: "nothing", send: at("/openapi.json"), answer: 200 },
};

/** Returns the expected status of a route, by the rules for all routes and its row. */
export function expectedStatus(row: Row, question: Case): number {
  const { token, world, actor } = question;
  const answer = typeof row.answer === "number" ? row.answer : row.answer(question);
  if (row.needs === "nothing") return answer;
  if (token === null || token === "wrong" || token === "invitation") return 401;
  const isKey = token === "sync" || token === "admin";
  // A key outlives neither its workspace nor its owner's membership.
  const outOfService = isKey && actor !== "stranger" && (world.isDeleted || actor === "organisationMember");
  if (row.needs === "service" || row.needs === "key") {
    if (!isKey) return 401;
    return outOfService && row.needs === "service" ? 403 : answer;
  }
  if (token === "sync" || (token === "admin" && row.needs === "inPerson")) return 403;
  if (outOfService) return 403;
  if (row.organisation !== undefined) {
    if (!inOrganisation(actor)) return 404;
    return row.organisation.includes(actor) ? answer : 403;
  }
  if (row.workspace !== undefined) {
    const { role, feature } = row.workspace;
    if (!question.reaches) return 404;
    if (role === "admin" && !question.isAdmin) return 403;
    if (feature !== undefined && !checkPlan(world.plan, feature).ok) return 403;
  }
  return answer;
}
