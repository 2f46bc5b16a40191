import { isUuid } from "../../../core/values/uuid.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import { MAX_SAVED_VIEWS } from "../../../core/wire/saved-views.ts";
import { USAGE_DIMENSIONS } from "../../../core/wire/usage.ts";
import { readSavedQuery } from "../../../pages/saved-view.ts";
import { problem } from "../../http/problem.ts";
import { newId } from "../../new-id.ts";
import { isCloudDimension } from "../../store/reads/usage-sources.ts";
import {
  canChangeView,
  changeSavedView,
  deleteSavedView,
  listSavedViews,
  saveView,
} from "../../store/saved-views.ts";
import type { WorkspaceAccess } from "../../store/workspaces.ts";
import type { ApiHandlers } from "../api-call.ts";

const readerOf = (userId: string, { role }: WorkspaceAccess) => ({ userId, isAdmin: role === "admin" });

/** The routes of saved views. */
export const savedViewHandlers = {
  "GET /v1/workspaces/:ws/views": async ({ parts, actor, workspace, answer }) => {
    const views = await listSavedViews(parts.db, workspace.workspaceId, actor.userId);
    const reader = readerOf(actor.userId, workspace);
    return answer(200, {
      items: views.map((view) => ({
        ...{ id: view.viewId, name: view.name, page: view.page, query: view.query, shared: view.isShared },
        ...{ user_id: view.userId, can_change: canChangeView(view, reader) },
        created_at: formatInstant(view.createdAt),
      })),
    });
  },

  "POST /v1/workspaces/:ws/views": async ({ parts, actor, workspace, body, answer }) => {
    const { name, page, shared } = body;
    const read = readSavedQuery(page, body.query, USAGE_DIMENSIONS.filter(isCloudDimension));
    if (!read.ok)
      return problem("wrong_shape", {
        errors: read.problems.map((text) => ({ field: "query", problem: text })),
      });
    const id = newId(parts);
    const fresh = { viewId: id, userId: actor.userId, name, page, query: read.query, isShared: shared };
    const saved = await saveView(parts.db, workspace.workspaceId, fresh, MAX_SAVED_VIEWS, parts.clock.now());
    return saved === "saved" ? answer(201, { id }) : problem(saved);
  },

  "PATCH /v1/workspaces/:ws/views/:id": async ({ parts, actor, workspace, params, body, answer }) => {
    if (!isUuid(params.id)) return problem("not_found");
    const changed = await changeSavedView(
      parts.db,
      workspace.workspaceId,
      params.id,
      { name: body.name, isShared: body.shared },
      readerOf(actor.userId, workspace),
      { userId: actor.userId, now: parts.clock.now() },
    );
    return changed === "changed" ? answer(204) : problem(changed);
  },

  "DELETE /v1/workspaces/:ws/views/:id": async ({ parts, actor, workspace, params, answer }) => {
    if (!isUuid(params.id)) return problem("not_found");
    const deleted = await deleteSavedView(
      parts.db,
      workspace.workspaceId,
      params.id,
      readerOf(actor.userId, workspace),
      { userId: actor.userId, now: parts.clock.now() },
    );
    return deleted === "changed" ? answer(204) : problem(deleted);
  },
} satisfies Partial<ApiHandlers>;
