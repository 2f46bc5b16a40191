import type { CoverageFigure } from "../../pages/coverage-figure.ts";
import { type PartReader, UNREAD_COVERAGE } from "../../pages/page-parts.ts";
import type { SessionAnswer } from "../../pages/views/session.ts";
import {
  type SessionLine,
  type SessionsAnswer,
  type SessionsView,
  sessionsSpec,
} from "../../pages/views/sessions.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import { LOCAL_DIMENSIONS, readCoverage } from "../api/read-usage.ts";
import type { SessionList, SessionQuery, SessionSummary } from "../store/port/sessions.ts";
import { totalInput } from "../store/token-sums.ts";
import { readLocalPeriod } from "./page-period.ts";
import { readMenus } from "./read-requests.ts";

/** The list of a machine's sessions. */
export const LOCAL_SESSIONS = sessionsSpec(LOCAL_DIMENSIONS);

/** The most sessions of a list. */
export const MAX_SESSIONS = 100;

/** The most calls of a session that its page has. */
const MAX_CALLS = 2_000;

/** Converts a session to a line of a list. */
function toSessionLine(session: SessionSummary): SessionLine {
  const { usage, source, ...facts } = session;
  const input = totalInput(usage.tokens);
  return {
    ...facts,
    isInferred: source === "inferred",
    calls: usage.requests,
    failed: usage.errors,
    blocked: usage.blocked,
    unpriced: usage.unpriced,
    cached:
      input === null || usage.tokens.cacheRead === null ? null : { read: usage.tokens.cacheRead, input },
    split: usage.split,
  };
}

/** Lists the sessions of a view. */
export async function listSessions(ports: ApiPorts, view: SessionsView): Promise<SessionList> {
  return await ports.store.sessions.list(queryOf(ports, view), ports.turn);
}

function queryOf({ clock }: ApiPorts, view: SessionsView): SessionQuery {
  const { from, to } = readLocalPeriod(view, clock.now());
  return { ...view.query, from, to, limit: MAX_SESSIONS };
}

/** Reads the sessions of a view. */
export async function readSessions(
  ports: ApiPorts,
  view: SessionsView,
  parts: PartReader,
): Promise<SessionsAnswer> {
  const period = readLocalPeriod(view, ports.clock.now());
  const { sessions, unknownCosts } = await listSessions(ports, view);
  return {
    sessions: sessions.map(toSessionLine),
    unknownCosts,
    periodWords: period.words,
    coverage: await parts.read<CoverageFigure>(
      "coverage",
      () => readCoverage(ports, period),
      UNREAD_COVERAGE,
    ),
    choices: await parts.read("menus of filters", () => readMenus(ports.store, period), {}),
    hasMore: sessions.length >= MAX_SESSIONS,
    failed: parts.failed,
  };
}

/** Reads one session with its requests; null if there is none with this ID. */
export async function readSession(
  { store }: ApiPorts,
  sessionId: string,
  parts: PartReader,
): Promise<SessionAnswer | null> {
  const session = store.sessions.summarise(sessionId);
  if (session === null) return null;
  const requests = await parts.read<SessionAnswer["requests"] | null>(
    "requests of the session",
    () => store.sessions.requests(sessionId, MAX_CALLS),
    null,
  );
  return { session: toSessionLine(session), requests };
}
