import {
  NEWEST_CALLS,
  type NewestCalls,
  type ProjectCalls,
  summariseProjects,
} from "../core/metering/attribution/newest-calls.ts";
import { usageCsv } from "../core/pricing/view/usage-export.ts";
import type { UsageAnswer } from "../core/wire/usage.ts";
import { describeTiers } from "./views/projects.ts";

type Row = UsageAnswer["rows"][number];
type Cell = Row["cells"][number];

/**
 * Returns the files of *Projects*: the usage, with how each project was found and the sessions of each branch among the newest calls.
 * What these do not say is empty in CSV and null in JSON.
 */
export function projectsFile(newest: NewestCalls | null) {
  const calls = summariseProjects(newest?.groups ?? []);
  const callsOf = (row: Row) => (row.other_values === null ? calls.get(row.key) : undefined);
  return {
    csv: (usage: UsageAnswer) =>
      usageCsv(usage, [
        ["found_by", (row) => describeTiers(callsOf(row)) || null],
        ["sessions", (row, cell) => countSessions(callsOf(row), cell)],
      ]),
    json: (usage: UsageAnswer) => ({
      ...usage,
      rows: usage.rows.map((row) => ({
        ...row,
        found_by: tiersJson(callsOf(row)),
        cells: row.cells.map((cell) => ({ ...cell, sessions: countSessions(callsOf(row), cell) })),
      })),
      newest_calls: newest === null ? null : sampleJson(newest),
    }),
  };
}

/** Counts the sessions of a branch. Null if none is known. */
const countSessions = (calls: ProjectCalls | undefined, { key, other_values }: Cell): number | null =>
  (other_values === null && calls?.sessions.get(key)) || null;

const tiersJson = (calls: ProjectCalls | undefined) =>
  calls === undefined || describeTiers(calls) === ""
    ? null
    : calls.tiers.map(([tier, requests]) => ({ tier, requests }));

/** Describes the calls that were read. `since` is null if these are all calls of the period. */
const sampleJson = ({ groups, since }: NewestCalls) => ({
  requests: groups.reduce((sum, { requests }) => sum + requests, 0),
  limit: NEWEST_CALLS,
  since: since === null ? null : new Date(since).toISOString(),
});
