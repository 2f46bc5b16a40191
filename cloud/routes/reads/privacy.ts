import { formatInstant, formatInstantOrNull } from "../../../core/wire/instant.ts";
import { listErasures } from "../../store/erasures.ts";
import type { CloudDatabase } from "../../store/open-database.ts";
import { type PersonHoldings, readHoldings } from "../../store/reads/holdings.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiHandlers } from "../api-call.ts";
import { readNames } from "./read-names.ts";

/** An erasure of prompts. */
export type ListedErasure = Awaited<ReturnType<typeof listErasures>>[number];

/** The route of what a workspace holds of people, and of what was erased. */
export const privacyHandlers = {
  "GET /v1/workspaces/:ws/privacy": async ({ parts, actor, workspace, answer }) => {
    const [holdings, erasures] = await Promise.all([
      readVisibleHoldings(parts.db, workspace, actor.userId),
      listVisibleErasures(parts.db, workspace, actor.userId),
    ]);
    const names = await readNames(
      parts.accounts,
      holdings.map(({ userId }) => userId),
    );
    return answer(200, {
      store_prompt_content: workspace.storePromptContent,
      data_retention_days: workspace.dataRetentionDays,
      holdings: holdings.map(({ userId, requests, bodies }) => ({
        ...{ user_id: userId, name: names.get(userId) ?? null },
        ...{ requests, stored_prompts: bodies },
      })),
      erasures: erasures.map((erasure) => ({
        id: erasure.erasureId,
        user_id: erasure.userId,
        project: erasure.project,
        actor_user_id: erasure.actorUserId,
        before: formatInstant(erasure.before),
        finished_at: formatInstantOrNull(erasure.finishedAt),
        certificate: erasure.certificate,
      })),
    });
  },
} satisfies Partial<ApiHandlers>;

/** Reads what a workspace holds by person: of everyone for an administrator, of themselves for a member. */
export const readVisibleHoldings = (
  db: CloudDatabase,
  { workspaceId, role }: WorkspaceAccess,
  userId: string,
): Promise<readonly PersonHoldings[]> => readHoldings(db, workspaceId, role === "admin" ? null : userId);

/** Lists the erasures that a person may see, or one of them: an administrator all, a member those of their own prompts. */
export async function listVisibleErasures(
  db: CloudDatabase,
  { workspaceId, role }: WorkspaceAccess,
  userId: string,
  erasureId: string | null = null,
): Promise<readonly ListedErasure[]> {
  return await listErasures(db, workspaceId, { userId: role === "admin" ? null : userId, erasureId });
}
