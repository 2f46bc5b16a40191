import { parseSessionQuery } from "../../../core/pricing/view/session-query.ts";
import { retentionFloor } from "../../../core/privacy/retention/windows.ts";
import { HEX_ID } from "../../../core/wire/fields.ts";
import { formatInstant } from "../../../core/wire/instant.ts";
import type { WorkspaceSession } from "../../../core/wire/sessions.ts";
import { problem } from "../../http/problem.ts";
import { findSession, listSessions, type SessionRow } from "../../store/reads/sessions.ts";
import type { ApiHandlers } from "../api-call.ts";
import { parseFilters } from "./parse-filters.ts";
import { readNames } from "./read-names.ts";
import { parsePeriod, reachOf } from "./read-period.ts";
import { toTrace } from "./to-trace.ts";

/** The most requests of a session in an answer, and on its page. */
export const MAX_SESSION_REQUESTS = 2_000;

/** The routes of sessions. They reach as far back as the lists of requests. */
export const sessionHandlers = {
  /** Answers 400 below the plan's window. */
  "GET /v1/workspaces/:ws/sessions": async ({ parts, workspace, query, context, answer }) => {
    const { limit } = query;
    const now = parts.clock.now();
    const period = parsePeriod("traces", query, workspace, now);
    if (!period.ok) return period.refusal;
    const asked = parseFilters(parseSessionQuery(new URL(context.req.url).searchParams));
    if (!asked.ok) return asked.refusal;
    const { from, to, stated } = period.value;
    const floor = retentionFloor("traces", reachOf(workspace, now));
    const list = { from, to, floor, query: asked.value, limit };
    const { sessions, unknownCosts } = await listSessions(parts.db, workspace.workspaceId, list);
    const shown = sessions.slice(0, limit);
    const names = await readNames(
      parts.accounts,
      shown.map(({ user_id }) => user_id),
    );
    return answer(200, {
      from: stated.from,
      to: stated.to,
      items: shown.map((row) => toSession(row, names)),
      has_more: sessions.length > limit,
      unknown_cost_sessions: unknownCosts,
    });
  },

  /** Answers 404 for a session whose requests are all below the plan's window. */
  "GET /v1/workspaces/:ws/sessions/:session_id": async ({ parts, workspace, params, answer }) => {
    const { session_id: id } = params;
    const floor = retentionFloor("traces", reachOf(workspace, parts.clock.now()));
    const bounds = { floor, limit: MAX_SESSION_REQUESTS };
    const found = HEX_ID.test(id) ? await findSession(parts.db, workspace.workspaceId, id, bounds) : null;
    if (found === null) return problem("not_found");
    const { session, requests } = found;
    const names = await readNames(
      parts.accounts,
      [session, ...requests].map(({ user_id }) => user_id),
    );
    return answer(200, {
      session: toSession(session, names),
      requests: requests.map((row) => toTrace(row, names)),
      has_more: Number(session.requests) > requests.length,
    });
  },
} satisfies Partial<ApiHandlers>;

/** Converts a session to its wire format; the person's name is their id if they have none. */
export function toSession(row: SessionRow, names: ReadonlyMap<string, string>): WorkspaceSession {
  const { user_id, machine_id, hostname, started_at, ended_at, ...others } = row;
  const { agents, requests, failed_requests, blocked_requests } = row;
  const { unpriced_requests, incomplete_requests } = row;
  return {
    ...others,
    user: { id: user_id, name: names.get(user_id) ?? user_id },
    machine: machine_id === null ? null : { id: machine_id, hostname: hostname ?? "" },
    started_at: formatInstant(started_at),
    ended_at: formatInstant(ended_at),
    agents: Number(agents),
    requests: Number(requests),
    failed_requests: Number(failed_requests),
    blocked_requests: Number(blocked_requests),
    unpriced_requests: Number(unpriced_requests),
    incomplete_requests: Number(incomplete_requests),
  };
}
