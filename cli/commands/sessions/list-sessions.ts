import { UsageError } from "clipanion";
import { shownParts } from "../../../core/pricing/cost-split.ts";
import { isUsageFilter, toUsageParameter } from "../../../core/pricing/view/request-query.ts";
import {
  describeUnknownCosts,
  parseSessionQuery,
  type SessionListQuery,
} from "../../../core/pricing/view/session-query.ts";
import { formatCount, UNKNOWN } from "../../../core/values/text/format-count.ts";
import { isCloudDimension } from "../../../daemon/api/read-usage.ts";
import { sessionsTable } from "../../../daemon/api/session-csv.ts";
import { cachePermille, sessionsJson } from "../../../daemon/api/session-json.ts";
import { countPart, formatRowCost } from "../../../daemon/store/format-row-cost.ts";
import type { SessionSummary } from "../../../daemon/store/port/sessions.ts";
import { sumRows } from "../../../daemon/store/report-rows.ts";
import { formatPermille } from "../../../pages/formats.ts";
import { withStore } from "../../home/open-store.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { METER_A_PROGRAM } from "../../program/failures.ts";
import { type PeriodOptions, readPeriod } from "../../program/period.ts";
import { renderCsvTable } from "../../render/csv-table.ts";
import { formatSpan } from "../../render/format-span.ts";
import { formatTime } from "../../render/format-time.ts";
import { fixedUsd } from "../../render/report.ts";
import { type Column, renderTable } from "../../render/table.ts";

/** The options of `meter sessions`. */
export interface ListSessionsOptions extends PeriodOptions {
  readonly project: string | undefined;
  readonly filter: readonly string[] | undefined;
  readonly minCost: string | undefined;
  readonly sort: string | undefined;
  readonly limit: string | undefined;
  readonly utc: boolean;
  readonly json: boolean;
  readonly csv: boolean;
}

/** The default number of sessions. Decision: about what a terminal shows. */
const DEFAULT_LIMIT = 20;

/** Lists sessions, by default the latest first. */
export async function listSessions(context: CommandContext, options: ListSessionsOptions): Promise<void> {
  const { limit = String(DEFAULT_LIMIT) } = options;
  if (options.json && options.csv) throw new UsageError("--json and --csv can't be combined.");
  if (!/^[1-9]\d{0,3}$/.test(limit))
    throw new UsageError(`Invalid value for --limit: ${limit}. Expected: a number from 1 to 9999.`);
  const period = readPeriod(options, Date.now(), options.utc);
  const query = { ...readSessionQuery(options), ...period, limit: Number(limit) };
  await withStore(context.home, { readOnly: true }, async (store) => {
    const list = await store.sessions.list(query, async () => {});
    const { sessions, unknownCosts } = list;
    if (options.json) return context.printJson(sessionsJson(list));
    const leftOut = unknownCosts === 0 ? null : describeUnknownCosts(unknownCosts);
    if (options.csv) {
      context.stdout.write(renderCsvTable(...sessionsTable(sessions)));
      if (leftOut !== null) context.notice(leftOut);
      return;
    }
    if (store.records.latestId() === null) return context.print(`No sessions.\n${METER_A_PROGRAM}`);
    const lines = [renderSessions(sessions, context.width, options.utc), leftOut];
    context.print(lines.filter((each) => each !== null).join("\n"));
  });
}

/** Reads the options that select sessions. Throws a `UsageError` if one is invalid. */
function readSessionQuery(options: ListSessionsOptions): SessionListQuery {
  const { project, minCost, sort, filter: given = [] } = options;
  const filters = given.map((text): [string, string] => {
    const [key = "", ...value] = text.split("=");
    if (value.length === 0 || !isUsageFilter(toUsageParameter([key, value.join("=")])[0]))
      throw new UsageError(
        `Invalid value for --filter: ${text}. Expected: <key>=<value>, such as branch=main.`,
      );
    return [key, value.join("=")];
  });
  const { query, notices } = parseSessionQuery([
    ...filters,
    ...Object.entries({ project, min_cost: minCost, sort }).flatMap(([key, value]): [string, string][] =>
      value === undefined ? [] : [[key, value]],
    ),
  ]);
  const [wrong] = notices;
  if (wrong !== undefined)
    throw new UsageError(
      `Invalid value for ${OPTIONS[wrong.key] ?? `--filter ${wrong.key}`}. ${wrong.problem}`,
    );
  const ofCloud = query.filters.find(({ dimension }) => isCloudDimension(dimension));
  if (ofCloud !== undefined)
    throw new UsageError(
      `Invalid value for --filter: all calls on this machine have the same ${ofCloud.dimension}.`,
    );
  return query;
}

/** The options of keys that are not given with `--filter`. */
const OPTIONS: Readonly<Record<string, string>> = { min_cost: "--min-cost", sort: "--sort" };

/** How many characters of an id a table shows: enough to tell sessions apart and to pass to `meter session`. */
const SHOWN_ID = 13;

function renderSessions(sessions: readonly SessionSummary[], width: number, utc: boolean): string {
  if (sessions.length === 0) return "No sessions.";
  const total = sumRows(sessions.map(({ usage }) => usage));
  const costs = shownParts((part) => countPart(total, part) > 0);
  const align = "right" as const;
  const columns: Column[] = [
    { title: "session" },
    { title: utc ? "started (UTC)" : "started" },
    { title: "time", align },
    { title: "client", shrink: true },
    { title: "project", shrink: true },
    { title: "branch", shrink: true },
    ...["calls", "agents", "cached", ...costs.map(({ label }) => label.toLowerCase())].map((title) => ({
      title,
      align,
    })),
  ];
  const rows = sessions.map((session) => {
    const cached = cachePermille(session.usage.tokens);
    return [
      `${session.source === "inferred" ? "~" : ""}${session.sessionId.slice(0, SHOWN_ID)}`,
      formatTime(session.startedAt, utc).slice(5, 16),
      formatSpan(session.endedAt - session.startedAt),
      session.client ?? UNKNOWN,
      session.project,
      session.branch ?? UNKNOWN,
      formatCount(session.usage.requests),
      formatCount(session.agents),
      cached === null ? UNKNOWN : formatPermille(cached),
      ...costs.map(({ part }) => formatRowCost(session.usage, part, fixedUsd)),
    ];
  });
  const isInferred = sessions.some(({ source }) => source === "inferred");
  const fromLogs = sessions.reduce((sum, session) => sum + session.fromLogs, 0);
  return [
    renderTable(columns, rows, width),
    "",
    ...(isInferred ? ["~ The program names no session; these are the calls of one process."] : []),
    ...(total.unpriced > 0 ? [unpricedNote(total.unpriced)] : []),
    ...(fromLogs > 0 ? [fromLogsNote(fromLogs, total.requests)] : []),
    "Show one: meter session <session>",
  ].join("\n");
}

/** Says how many calls an import read from logs of agents. */
export const fromLogsNote = (fromLogs: number, calls: number): string =>
  fromLogs === calls
    ? `From logs: ${calls === 1 ? "the call" : `all ${formatCount(calls)} calls`}.`
    : `From logs: ${formatCount(fromLogs)} of ${formatCount(calls)} calls. The others are from the wire.`;

const unpricedNote = (unpriced: number): string =>
  unpriced === 1
    ? "1 call has no known price; its cost is not included."
    : `${formatCount(unpriced)} calls have no known price; their cost is not included.`;
