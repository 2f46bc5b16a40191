import type { Accounts } from "../../core/ports/accounts.ts";
import { DatabaseError } from "../../core/ports/postgres.ts";
import { type ErasureParts, repeatErasure } from "../erasure/run-erasure.ts";
import { deleteWorkspace, leaveAllOrganisations } from "../store/deletions.ts";
import { revokeKey } from "../store/key-administration.ts";
import { setMachineBlocked } from "../store/machines.ts";
import { removeMember } from "../store/members.ts";
import { changeOrganisationRole } from "../store/organisations.ts";
import { changeSettings } from "../store/settings.ts";
import type { Withdrawal } from "../store/withdrawals.ts";

/** The dependencies of applying withdrawals. */
export interface WithdrawalParts extends ErasureParts {
  readonly accounts: Pick<Accounts<unknown, unknown>, "deleteUser">;
}

/**
 * Applies the withdrawals after a backup to a database that was restored from it. Withdrawals that the backup contains already, or whose
 * subject it lacks, are skipped. Safe to repeat. Returns the withdrawals that could not be applied.
 */
export async function applyWithdrawals(
  parts: WithdrawalParts,
  withdrawals: readonly Withdrawal[],
): Promise<readonly Withdrawal[]> {
  const failed: Withdrawal[] = [];
  for (const each of withdrawals) if (!(await applyOne(parts, each))) failed.push(each);
  return failed;
}

/** Applies one withdrawal. False if a rule forbids it. */
async function applyOne(parts: WithdrawalParts, each: Withdrawal): Promise<boolean> {
  const { db } = parts;
  const change = { userId: null, now: "at" in each ? each.at : parts.clock.now() };
  switch (each.kind) {
    case "prompts_not_stored":
      await changeSettings(db, each.workspaceId, "settings_changed", { store_prompt_content: false }, change);
      return true;
    case "key_revoked":
      await revokeKey(db, each.workspaceId, each.keyId, null, change);
      return true;
    case "machine_blocked":
      await setMachineBlocked(db, each.workspaceId, each.machineId, true, change);
      return true;
    case "member_removed":
      await removeMember(db, each.workspaceId, each.userId, change);
      return true;
    case "organisation_left":
      return (
        (await changeOrganisationRole(db, each.organisationId, each.userId, null, change)) !== "last_owner"
      );
    case "prompts_erased":
      await eraseAgain(parts, each);
      return true;
    case "workspace_deleted":
      await deleteWorkspace(db, each.workspaceId, change);
      return true;
    case "account_deleted": {
      const left = await leaveAllOrganisations(db, each.userId, each.at);
      if (left.ok) await parts.accounts.deleteUser(each.userId);
      return left.ok;
    }
  }
}

async function eraseAgain(
  parts: WithdrawalParts,
  { kind: _, at, ...erasure }: Extract<Withdrawal, { kind: "prompts_erased" }>,
): Promise<void> {
  try {
    await repeatErasure(parts, { ...erasure, before: at });
  } catch (error) {
    // The backup has this erasure already (a constraint), or lacks its workspace (no row was changed).
    const isSkipped =
      error instanceof DatabaseError && (error.reason === "constraint" || error.reason === "conflict");
    if (!isSkipped) throw error;
  }
}
