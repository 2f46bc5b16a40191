import { encodeHex } from "../../../core/values/hash-text.ts";
import { listOwnSummaries, startSummary, stopSummary } from "../../store/weekly-summaries.ts";
import { currentMonday } from "../../summaries/send-summaries.ts";
import type { ApiHandlers } from "../api-call.ts";

/** The bytes of the token in the link that ends the emails. */
const TOKEN_BYTES = 24;

/** The routes of the caller's weekly email about a workspace. */
export const weeklySummaryHandlers = {
  "GET /v1/workspaces/:ws/weekly-summary": async ({ parts, actor, workspace, answer }) => {
    const own = await listOwnSummaries(parts.db, actor.userId);
    return answer(200, { enabled: own.has(workspace.workspaceId) });
  },

  "PATCH /v1/workspaces/:ws/weekly-summary": async ({ parts, actor, workspace, body, answer }) => {
    const reader = { userId: actor.userId, workspaceId: workspace.workspaceId };
    if (!body.enabled) await stopSummary(parts.db, reader);
    else {
      const token = encodeHex(parts.randomBytes(TOKEN_BYTES));
      const sentUntil = currentMonday(parts, workspace);
      await startSummary(parts.db, { ...reader, sentUntil }, token, parts.clock.now());
    }
    return answer(204);
  },
} satisfies Partial<ApiHandlers>;
