import type { AccountCreation, NewAccount } from "../../core/ports/accounts.ts";
import type { Plan } from "../../core/values/plan.ts";
import { newId } from "../new-id.ts";
import type { CloudPorts } from "../ports.ts";
import { createOrganisation } from "../store/organisations.ts";
import { changeSettings } from "../store/settings.ts";
import { listWorkspaces, type WorkspaceAccess } from "../store/workspaces.ts";
import { organisationName } from "./sign-up-policy.ts";

type AdminParts = Pick<CloudPorts, "db" | "clock" | "randomBytes" | "accounts">;

/** The result of `createUser`: the account with its first organisation and workspace, or the reason for failure. */
export type UserCreation =
  | (Extract<AccountCreation, { ok: true }> & {
      readonly organisationId: string;
      readonly workspaceId: string;
    })
  | Extract<AccountCreation, { ok: false }>;

/** Creates an account with its own organisation and workspace, even if sign-up is closed. */
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

/** Changes a workspace's plan, effective at once; nothing is deleted. Null if the workspace does not exist or was deleted. */
export async function setPlan(
  parts: Pick<CloudPorts, "db" | "clock">,
  workspaceId: string,
  plan: Plan,
): Promise<{ readonly plan: Plan } | null> {
  const change = { userId: null, now: parts.clock.now() };
  const settings = await changeSettings(parts.db, workspaceId, "plan_changed", { plan }, change);
  return settings === null ? null : { plan: settings.plan };
}

/** Lists the workspaces that the person with this email address can access; null if there is no such person. */
export async function listWorkspacesOf(
  parts: Pick<CloudPorts, "db" | "accounts">,
  email: string,
): Promise<readonly WorkspaceAccess[] | null> {
  const person = await parts.accounts.findByEmail(email);
  return person === null ? null : await listWorkspaces(parts.db, person.userId);
}
