import { filterValue, type View } from "../../pages/view.ts";
import type { SessionAnswer } from "../../pages/views/session.ts";
import { type SessionLine, type SessionsAnswer, sessionSort } from "../../pages/views/sessions.ts";
import type { ApiPorts } from "../api/api-ports.ts";
import { readCoverage } from "../api/read-usage.ts";
import type { SessionSummary } from "../store/port/sessions.ts";
import { totalInput } from "../store/token-sums.ts";
import { readLocalPeriod } from "./page-period.ts";
import { readChoices } from "./read-requests.ts";

/** The most sessions of a list. */
export const MAX_SESSIONS = 100;

/** The most calls of a session that its page has. */
const MAX_CALLS = 2_000;

/** Converts a session to a line of a list. */
export function toSessionLine(session: SessionSummary): SessionLine {
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
export async function listSessions(
  { store, turn, clock }: ApiPorts,
  view: View,
): Promise<readonly SessionSummary[]> {
  const { from, to } = readLocalPeriod(view, clock.now());
  const project = filterValue(view, "project");
  return await store.sessions.list(
    { from, to, sort: sessionSort(view), limit: MAX_SESSIONS, ...(project !== undefined && { project }) },
    turn,
  );
}

/** Reads the sessions of a view. */
export async function readSessions(ports: ApiPorts, view: View): Promise<SessionsAnswer> {
  const period = readLocalPeriod(view, ports.clock.now());
  const sessions = await listSessions(ports, view);
  return {
    sessions: sessions.map(toSessionLine),
    periodWords: period.words,
    coverage: readCoverage(ports, period),
    choices: { project: await readChoices(ports.store, "project", period) },
    hasMore: sessions.length >= MAX_SESSIONS,
  };
}

/** Reads one session with its requests; null if there is none with this ID. */
export function readSession({ store }: ApiPorts, sessionId: string): SessionAnswer | null {
  const session = store.sessions.summarise(sessionId);
  if (session === null) return null;
  return { session: toSessionLine(session), requests: store.sessions.requests(sessionId, MAX_CALLS) };
}
