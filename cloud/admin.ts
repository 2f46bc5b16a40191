import type { Plan } from "../core/plans/mod.ts";
import type { AccountCreation, NewAccount } from "../core/ports/accounts.ts";
import { newId } from "./new-id.ts";
import type { CloudPorts } from "./ports.ts";
import { organisationName } from "./sign-up-policy.ts";
import { createOrganisation } from "./store/organisations.ts";
import { changeSettings } from "./store/settings.ts";
import type { WorkspaceAccess } from "./store/workspaces.ts";
import { listWorkspaces } from "./store/workspaces.ts";

type AdminParts = Pick<CloudPorts, "db" | "clock" | "randomBytes" | "accounts">;

/** An account made by the host, with what it begins with; or why there is none. */
export type UserCreation =
  | (Extract<AccountCreation, { ok: true }> & {
      readonly organisationId: string;
      readonly workspaceId: string;
    })
  | Extract<AccountCreation, { ok: false }>;

/** Makes an account with an organisation and a workspace of its own, whatever the sign-up setting says. */
export async function createUser(parts: AdminParts, account: NewAccount): Promise<UserCreation> {
  const made = await parts.accounts.createUser(account);
  if (!made.ok) return made;
  const [organisationId, workspaceId] = [newId(parts), newId(parts)];
  await createOrganisation(
    parts.db,
    {
      organisationId,
      name: organisationName(account.name),
      workspaceId,
      workspaceName: "Main",
      ownerUserId: made.userId,
    },
    { userId: null, now: parts.clock.now() },
  );
  return { ok: true, userId: made.userId, organisationId, workspaceId };
}

/** Puts a workspace on a plan, at once; nothing is deleted. Null where it is not in service. */
export async function setPlan(
  parts: Pick<CloudPorts, "db" | "clock">,
  workspaceId: string,
  plan: Plan,
): Promise<{ readonly plan: Plan } | null> {
  const change = { userId: null, now: parts.clock.now() };
  const settings = await changeSettings(parts.db, workspaceId, "plan_changed", { plan }, change);
  return settings === null ? null : { plan: settings.plan };
}

/** The workspaces that the person of an address reaches; null where there is no such person. */
export async function listWorkspacesOf(
  parts: Pick<CloudPorts, "db" | "accounts">,
  email: string,
): Promise<readonly WorkspaceAccess[] | null> {
  const person = await parts.accounts.findByEmail(email);
  return person === null ? null : await listWorkspaces(parts.db, person.userId);
}
