import type { SessionListQuery } from "../../../core/pricing/view/session-query.ts";
import type { RecordFields } from "../../../core/values/record-fields.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { StoredRequest } from "./records.ts";
import type { ReportRow } from "./reports.ts";
import type { Period, Turn } from "./values.ts";

/** Which sessions are listed: those with a matching request in the period. The default is all of them, the latest first. */
export interface SessionQuery extends Period, Partial<SessionListQuery> {
  readonly limit: number;
}

/** A session, with all of its requests. */
export interface SessionSummary {
  readonly sessionId: string;
  readonly source: RecordFields["sessionSource"]["values"][number] | null;
  /** What the latest request states. */
  readonly project: string;
  readonly client: string | null;
  readonly clientVersion: string | null;
  readonly branch: string | null;
  /** When the first request began, and when the last one ended. */
  readonly startedAt: Millis;
  readonly endedAt: Millis;
  /** The number of sub-agents. */
  readonly agents: number;
  /** How many of its requests were imported from logs of agents. */
  readonly fromLogs: number;
  /** The sums of the requests. Its key is null. */
  readonly usage: ReportRow;
}

/** A list of sessions. */
export interface SessionList {
  readonly sessions: readonly SessionSummary[];
  /** How many sessions the minimum cost leaves out although what they cost is not known. Without one: 0. */
  readonly unknownCosts: number;
}

/** The result of looking a session up. `ambiguous` has some of the ids that begin with the text. */
export type FoundSession =
  | { readonly kind: "found"; readonly sessionId: string }
  | { readonly kind: "ambiguous"; readonly sessionIds: readonly string[] }
  | { readonly kind: "not_found" };

/** The sessions of requests. */
export interface SessionStore {
  /** Lists sessions in the order of the query, with `turn` between slices. */
  list(query: SessionQuery, turn: Turn): Promise<SessionList>;
  /** Finds a session by its id or a unique beginning of it, or by `last` for the one with the latest request. */
  find(text: string): FoundSession;
  /** Sums up a session. Not found: null. */
  summarise(sessionId: string): SessionSummary | null;
  /** Reads the requests of a session, the oldest first, at most `limit`. */
  requests(sessionId: string, limit: number): StoredRequest[];
}
