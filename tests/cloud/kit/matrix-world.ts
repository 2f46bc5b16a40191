import { PLANS, type Plan } from "../../../core/values/plan.ts";
import { batch, type CloudRig, json, record, type Standing, type TestWorkspace } from "./cloud-rig.ts";

/** The callers. `author` is a member whose request and body are in the workspace. */
export const ACTORS = [
  "nobody",
  "stranger",
  "organisationMember",
  "member",
  "author",
  "workspaceAdmin",
  "organisationAdmin",
  "organisationOwner",
] as const;

/** One of them. */
export type ActorName = (typeof ACTORS)[number];

/** Their credentials. */
export const TOKEN_KINDS = ["session", "sync", "admin"] as const;

/** A text in the form of a token that does not exist, and one of another kind. */
export const STRAY_TOKENS = {
  wrong: `mtr_admin_${"A".repeat(64)}`,
  invitation: `mtr_invite_${"A".repeat(64)}`,
} as const;

/** One of either. */
export type TokenKind = (typeof TOKEN_KINDS)[number] | keyof typeof STRAY_TOKENS;

/** A person with all their tokens. */
interface WorldPerson {
  readonly userId: string;
  readonly tokens: Readonly<Record<(typeof TOKEN_KINDS)[number], string>>;
}

/** A workspace on a plan, with people of every relation to it. */
export interface World {
  readonly plan: Plan;
  readonly isDeleted: boolean;
  readonly workspace: TestWorkspace;
  readonly people: Readonly<Partial<Record<ActorName, WorldPerson>>>;
  /** The author's request of an hour ago, with a stored body. */
  readonly requestId: string;
}

/** Creates a world, with only these people if they are given. */
export async function makeWorld(
  rig: CloudRig,
  plan: Plan,
  isDeleted: boolean,
  actors: readonly ActorName[] = ACTORS,
): Promise<World> {
  const workspace = await rig.addWorkspace({ plan, storePromptContent: true });
  const people: Partial<Record<ActorName, WorldPerson>> = {};
  for (const actor of actors) {
    if (actor !== "nobody") people[actor] = await addPerson(rig, workspace, actor);
  }
  const requestId = rig.uuid();
  const author = people.author;
  if (author !== undefined) {
    await rig.call("POST", "/v1/requests/batch", author.tokens.sync, batch(record(requestId)));
    await rig.call("POST", `/v1/requests/${requestId}/body`, author.tokens.sync, {
      request_id: requestId,
      direction: "request",
      content_type: "application/json",
      body_b64: "e30=",
      redaction_applied: false,
      redaction_summary: [],
      original_size_bytes: 2,
    });
  }
  if (isDeleted) {
    await rig.db
      .updateTable("workspaces")
      .set({ deleted_at: rig.clock.now() })
      .where("workspace_id", "=", workspace.id)
      .execute();
  }
  return { plan, isDeleted, workspace, people, requestId };
}

async function addPerson(
  rig: CloudRig,
  workspace: TestWorkspace,
  actor: Exclude<ActorName, "nobody">,
): Promise<WorldPerson> {
  const standing: Standing = actor === "author" ? "member" : actor;
  const { userId, token } = await rig.personIn(workspace, standing);
  // A stranger's keys are valid in another workspace.
  const home = actor === "stranger" ? await rig.addWorkspace({ storePromptContent: true }) : workspace;
  if (actor === "stranger") await rig.addMember(home, userId, "admin");
  const machineId = await rig.addMachine(home);
  return {
    userId,
    tokens: {
      session: token,
      sync: await rig.addKey(home, { userId, machineId }),
      admin: await rig.addKey(home, { scope: "admin", userId }),
    },
  };
}

/** The worlds of the matrix: one for each plan, and a deleted one. */
export async function makeWorlds(rig: CloudRig, plans: readonly Plan[] = PLANS): Promise<readonly World[]> {
  const worlds: World[] = [];
  for (const plan of plans) worlds.push(await makeWorld(rig, plan, false));
  worlds.push(await makeWorld(rig, "enterprise", true));
  return worlds;
}

/** A code that waits for its approval. */
export async function startPairing(rig: CloudRig): Promise<string> {
  const machine = { fingerprint: null, hostname: "laptop", platform: "linux", daemon_version: "0.4.0" };
  return (await json(rig.call("POST", "/v1/pairing/start", null, machine))).code;
}
