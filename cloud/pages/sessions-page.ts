import { printSessionQuery } from "../../core/pricing/view/session-query.ts";
import { retentionFloor } from "../../core/privacy/retention/windows.ts";
import { addQueries } from "../../core/values/text/query-string.ts";
import { HEX_ID } from "../../core/wire/fields.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { UsageDimension } from "../../core/wire/usage.ts";
import type { CoverageFigure } from "../../pages/coverage-figure.ts";
import { renderPeriods } from "../../pages/filters.ts";
import { createPageFile, fileFormatOf } from "../../pages/page-file.ts";
import { UNREAD_COVERAGE } from "../../pages/page-parts.ts";
import { readPagePeriod } from "../../pages/page-period.ts";
import { filesOf, readView } from "../../pages/view.ts";
import { renderNoSession, renderSession, sessionHeading, sessionView } from "../../pages/views/session.ts";
import {
  readSessionsView,
  renderSessions,
  type SessionLine,
  sessionsSpec,
} from "../../pages/views/sessions.ts";
import { readNames } from "../routes/reads/read-names.ts";
import { reachOf } from "../routes/reads/read-period.ts";
import { readPeriodCoverage } from "../routes/reads/read-usage.ts";
import { MAX_SESSION_REQUESTS, toSession } from "../routes/reads/sessions.ts";
import { toTrace } from "../routes/reads/to-trace.ts";
import { findSession, listSessions, type SessionRow } from "../store/reads/sessions.ts";
import type { TraceRow } from "../store/reads/traces.ts";
import { NO_MENUS, readFilterMenus } from "./filter-menus.ts";
import { sessionsCsv, tracesCsv } from "./list-csv.ts";
import type { PageAnswer, PageCall } from "./page-call.ts";
import { readNamesPart, sendFile, toolsOf } from "./page-tools.ts";
import { toShownRequest } from "./shown-request.ts";
import { CLOUD_DIMENSIONS } from "./usage-pages.ts";

const PATH = "/sessions";

const SPEC = sessionsSpec(CLOUD_DIMENSIONS);

/** The filters that have a menu of their values. The rollups have them. */
const MENUS = ["project", "model", "provider", "person", "machine"] as const satisfies UsageDimension[];

/** The most sessions of a list. */
const MAX_SESSIONS = 100;

const floorOf = ({ workspace, place }: PageCall) => retentionFloor("traces", reachOf(workspace, place.now));

/** `GET /w/{ws}/sessions`: the sessions of a period. Its beginning is cut as that of a list of requests. */
export async function showSessions(call: PageCall): Promise<PageAnswer> {
  const { env, place, workspace, reader } = call;
  const { parts } = env;
  const view = readSessionsView(SPEC, call.parameters, place.base);
  const floor = floorOf(call);
  const period = readPagePeriod(view, place, floor);
  const { from, to } = period;
  const list = { from, to, floor, query: view.query, limit: MAX_SESSIONS };
  const [{ sessions, unknownCosts }, menus, coverage] = await Promise.all([
    listSessions(parts.db, workspace.workspaceId, list),
    reader.read("menus of filters", () => readFilterMenus(call, period, MENUS), NO_MENUS),
    reader.read<CoverageFigure>(
      "coverage",
      () => readPeriodCoverage(parts, workspace.workspaceId, period),
      UNREAD_COVERAGE,
    ),
  ]);
  const shown = sessions.slice(0, MAX_SESSIONS);
  const format = fileFormatOf(call.parameters);
  if (format !== null) {
    const items = await toWireSessions(call, shown);
    const csv = () => sessionsCsv(items);
    const json = () => ({ items, unknown_cost_sessions: unknownCosts });
    return sendFile(call, createPageFile("sessions", format, { csv, json }));
  }
  const limits = `from=${formatInstant(from)}&to=${formatInstant(to)}&limit=${MAX_SESSIONS}`;
  const answer = {
    ...menus,
    sessions: await toSessionLines(call, shown),
    unknownCosts,
    periodWords: period.words,
    coverage,
    hasMore: sessions.length > MAX_SESSIONS,
    ...(period.isCut && { caveat: CUT }),
    failed: reader.failed,
  };
  return {
    heading: "Sessions",
    path: PATH,
    controls: renderPeriods(view, place),
    main: renderSessions(answer, view, place),
    tools: toolsOf(call, addQueries(PATH, limits, printSessionQuery(view.query)), filesOf(view)),
  };
}

const CUT = "Earlier sessions are not listed: the plan and the retention of this workspace end before them.";

/** `GET /w/{ws}/sessions/{id}`: one session, its agents and its calls. */
export async function showSession(call: PageCall): Promise<PageAnswer> {
  const { env, context, workspace, place } = call;
  const id = context.req.param("id") ?? "";
  const back = { path: PATH, name: "Sessions" };
  const bounds = { floor: floorOf(call), limit: MAX_SESSION_REQUESTS };
  const found = HEX_ID.test(id) ? await findSession(env.parts.db, workspace.workspaceId, id, bounds) : null;
  const [session] = found === null ? [] : await toSessionLines(call, [found.session]);
  if (found === null || session === undefined)
    return { heading: "Not found", path: PATH, back, main: renderNoSession(place), status: 404 };
  const format = fileFormatOf(call.parameters);
  if (format !== null) {
    const items = await toWireTraces(call, found.requests);
    return sendFile(
      call,
      createPageFile("session", format, { csv: () => tracesCsv(items), json: () => ({ items }) }),
    );
  }
  const view = readView(sessionView(`${PATH}/${id}`), call.parameters, place.base);
  return {
    heading: sessionHeading(session, place),
    path: PATH,
    back,
    main: renderSession({ session, requests: found.requests.map(toShownRequest) }, view, place),
    tools: toolsOf(call, `${PATH}/${id}`, filesOf(view)),
  };
}

async function toWireSessions({ env }: PageCall, rows: readonly SessionRow[]) {
  const names = await readNames(
    env.parts.accounts,
    rows.map(({ user_id }) => user_id),
  );
  return rows.map((row) => toSession(row, names));
}

async function toWireTraces({ env }: PageCall, rows: readonly TraceRow[]) {
  const names = await readNames(
    env.parts.accounts,
    rows.map(({ user_id }) => user_id),
  );
  return rows.map((row) => toTrace(row, names));
}

async function toSessionLines(call: PageCall, rows: readonly SessionRow[]): Promise<readonly SessionLine[]> {
  const names = await readNamesPart(
    call,
    rows.map(({ user_id }) => user_id),
  );
  return rows.map((row) => ({
    sessionId: row.session_id,
    isInferred: row.session_source === "inferred",
    project: row.project ?? "",
    branch: row.git_branch,
    client: null,
    sender: { person: names.get(row.user_id) ?? row.user_id, machine: row.hostname },
    startedAt: row.started_at,
    endedAt: row.ended_at,
    agents: Number(row.agents),
    calls: Number(row.requests),
    failed: Number(row.failed_requests),
    blocked: Number(row.blocked_requests),
    unpriced: Number(row.unpriced_requests),
    cached:
      row.input_tokens === null || row.cache_read_tokens === null
        ? null
        : { read: BigInt(row.cache_read_tokens), input: BigInt(row.input_tokens) },
    split: {
      spentPicoUsd: BigInt(row.spent_pico_usd),
      planUsagePicoUsd: BigInt(row.plan_usage_pico_usd),
      unknownBillingPicoUsd: BigInt(row.unknown_billing_pico_usd),
    },
  }));
}
