import { UsageError } from "clipanion";
import { BILLING_MODES } from "../../../core/values/record-fields.ts";
import { quoteOption } from "../../../core/values/text/shell-words.ts";
import type { Millis } from "../../../core/values/time.ts";
import type { RequestListQuery } from "../../../daemon/store/port/records.ts";
import { parseRequestStatus, STATUS_NAMES } from "../../../daemon/store/request-status.ts";
import { type PeriodOptions, readPeriod } from "../../program/period.ts";

/** The default number of requests of a page. Decision: about what a terminal shows. */
const DEFAULT_LIMIT = 30;

/** The most requests of a page, as in the CSV of the loopback API. */
const MAX_LIMIT = 10_000;

/** The options of `meter requests` that select requests. */
export interface RequestFilters extends PeriodOptions {
  readonly project: string | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly client: string | undefined;
  readonly billing: string | undefined;
  readonly status: string | undefined;
  readonly limit: string | undefined;
  readonly before: string | undefined;
  readonly utc: boolean;
}

/** Reads the options. Throws a `UsageError` if one is invalid. */
export function readFilters(options: RequestFilters, now: Millis): RequestListQuery {
  const { project, model, provider, client, before } = options;
  const limit = options.limit ?? String(DEFAULT_LIMIT);
  const billing = BILLING_MODES.find((mode) => mode === options.billing);
  if (options.billing !== undefined && billing === undefined)
    throw invalid("--billing", options.billing, BILLING_MODES.join(", "));
  const status = options.status === undefined ? undefined : parseRequestStatus(options.status);
  if (status === null)
    throw invalid("--status", options.status ?? "", `${STATUS_NAMES.join(", ")} or an HTTP status`);
  if (!/^[1-9]\d{0,4}$/.test(limit) || Number(limit) > MAX_LIMIT)
    throw invalid("--limit", limit, `a number from 1 to ${MAX_LIMIT}`);
  if (before !== undefined && !/^\d{1,15}$/.test(before))
    throw invalid("--before", before, "the cursor that the previous page printed");
  return {
    ...readPeriod(options, now, options.utc),
    ...(project !== undefined && { project }),
    ...(model !== undefined && { model }),
    ...(provider !== undefined && { provider }),
    ...(client !== undefined && { client }),
    ...(billing !== undefined && { billing }),
    ...(status !== undefined && { status }),
    beforeSeq: before === undefined ? null : Number(before),
    limit: Number(limit),
  };
}

function invalid(option: string, value: string, expected: string): UsageError {
  return new UsageError(`Invalid value for ${option}: ${value}. Expected: ${expected}.`);
}

/** Returns the command that lists the page from the cursor on, with the same filters. */
export function nextPageCommand(options: RequestFilters & { readonly csv: boolean }, cursor: number): string {
  const { since, from, to, project, model, provider, client, billing, status, limit } = options;
  const values = { since, from, to, project, model, provider, client, billing, status, limit };
  const words = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [quoteOption(`--${name}`, value)],
  );
  const flags = [...(options.utc ? ["--utc"] : []), ...(options.csv ? ["--csv"] : [])];
  return ["meter requests", ...words, ...flags, `--before ${cursor}`].join(" ");
}
