import { UsageError } from "clipanion";
import type { CloudClient, CloudClientResult } from "../../../../core/ports/cloud-client.ts";
import { parsePages } from "../../../../core/pricing/statements/statement-formats.ts";
import type { StatementFormat, StatementLine } from "../../../../core/pricing/statements/statement-line.ts";
import type { CalendarDate } from "../../../../core/values/time.ts";
import { addDays } from "../../../../core/values/zone.ts";
import { formatCalendarDate } from "../../../../core/wire/instant.ts";
import { createHttpClient } from "../../../cloud/http-client.ts";
import { readConfig } from "../../../home/read-config.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { CommandFailure } from "../../../program/exit-codes.ts";
import type { BillSelection } from "./collect-bill.ts";
import { readPages } from "./read-statement-file.ts";

/** How a provider's reports are requested. */
interface StatementApi {
  readonly origin: string;
  /** The environment variable with the key. It is not read from anywhere else. */
  readonly variable: string;
  readonly headers: (key: string) => Readonly<Record<string, string>>;
  /** The paths and parameters of the first pages. */
  readonly reports: (from: CalendarDate, to: CalendarDate) => readonly string[];
  readonly pageParameter: string | null;
}

/** Returns the next day: the ends of all of these reports are exclusive. */
const dayAfter = (day: CalendarDate) => addDays(day, 1);

const secondsOf = (day: CalendarDate) => Date.parse(`${day}T00:00:00Z`) / 1_000;

/** The providers. Sources of the parameters: as in the readers of `core/pricing/statements`. */
export const STATEMENT_APIS: Readonly<Record<string, StatementApi>> = {
  anthropic: {
    origin: "https://api.anthropic.com",
    variable: "ANTHROPIC_ADMIN_API_KEY",
    headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
    reports: (from, to) => {
      const period = `starting_at=${from}T00:00:00Z&ending_at=${dayAfter(to)}T00:00:00Z&bucket_width=1d&limit=31`;
      return [
        `/v1/organizations/cost_report?${period}&group_by[]=workspace_id&group_by[]=description`,
        `/v1/organizations/usage_report/messages?${period}&group_by[]=model&group_by[]=api_key_id&group_by[]=service_tier`,
      ];
    },
    pageParameter: "page",
  },
  openai: {
    origin: "https://api.openai.com",
    variable: "OPENAI_ADMIN_KEY",
    headers: (key) => ({ authorization: `Bearer ${key}` }),
    reports: (from, to) => {
      const period = `start_time=${secondsOf(from)}&end_time=${secondsOf(dayAfter(to))}&bucket_width=1d`;
      return [
        `/v1/organization/costs?${period}&limit=180&group_by[]=project_id&group_by[]=line_item`,
        `/v1/organization/usage/completions?${period}&limit=31&group_by[]=model&group_by[]=api_key_id&group_by[]=batch&group_by[]=service_tier`,
      ];
    },
    pageParameter: "page",
  },
  openrouter: {
    origin: "https://openrouter.ai",
    variable: "OPENROUTER_MANAGEMENT_KEY",
    headers: (key) => ({ authorization: `Bearer ${key}` }),
    reports: () => ["/api/v1/activity"],
    pageParameter: null,
  },
};

/** The most pages of one report: years of days. */
const MAX_PAGES = 200;
const MAX_PAGE_BYTES = 16 * 1024 * 1024;
const PAGE_TIMEOUT_MS = 60_000;

/** Days read by default, up to yesterday. */
const DEFAULT_DAYS = 30;

/** Requests the provider's reports, page by page. */
export async function readStatementApi(
  context: CommandContext,
  provider: string,
  selection: BillSelection,
  onLine: (source: string, line: StatementLine, format: StatementFormat) => void,
): Promise<void> {
  if (!Object.hasOwn(STATEMENT_APIS, provider))
    throw new UsageError(
      `Invalid value for --api: ${provider}. Expected: ${Object.keys(STATEMENT_APIS).join(", ")}.`,
    );
  const api = STATEMENT_APIS[provider]!;
  const key = context.env[api.variable]?.trim() ?? "";
  if (key === "" || /[^\x21-\x7e]/.test(key))
    throw new CommandFailure(`Set ${api.variable} to an admin key of ${provider}.`);
  const { config } = await readConfig(context.home, context.env);
  const client = createHttpClient(config.proxy.extraCa);
  const to = selection.to ?? addDays(formatCalendarDate(Date.now()), -1);
  const from = selection.from ?? addDays(to, 1 - DEFAULT_DAYS);
  try {
    for (const report of api.reports(from, to))
      await readReport(client, api, key, report, (line, format) => onLine(report, line, format));
  } finally {
    await client.close();
  }
}

/** Reads all pages of one report. */
export async function readReport(
  client: Pick<CloudClient, "send">,
  api: StatementApi,
  key: string,
  report: string,
  onLine: (line: StatementLine, format: StatementFormat) => void,
): Promise<void> {
  const name = `${api.origin}${report.slice(0, report.indexOf("?") >>> 0)}`;
  let url = `${api.origin}${report}`;
  for (let count = 0; count < MAX_PAGES; count++) {
    const result = await client.send({
      ...{ method: "GET", url, bearer: null, body: null, headers: api.headers(key) },
      ...{ maxResponseBytes: MAX_PAGE_BYTES, timeoutMs: PAGE_TIMEOUT_MS },
    });
    const text = textOf(name, result, api);
    readPages(name, text, onLine);
    const next = nextPage(text);
    if (next === null || api.pageParameter === null) return;
    url = `${api.origin}${report}&${api.pageParameter}=${encodeURIComponent(next)}`;
  }
  throw new CommandFailure(`${name} has more than ${MAX_PAGES} pages. Name a shorter period.`);
}

function textOf(name: string, result: CloudClientResult, { variable }: StatementApi): string {
  if (result.kind === "transport")
    throw new CommandFailure(`Could not read ${name}: ${result.reason.replaceAll("_", " ")}.`);
  if (result.status === 401 || result.status === 403)
    throw new CommandFailure(
      `${name} rejected the key in ${variable} (HTTP ${result.status}). It must be an admin key of the organisation.`,
    );
  if (result.status !== 200) throw new CommandFailure(`${name} answered with HTTP ${result.status}.`);
  return new TextDecoder().decode(result.body);
}

/** Returns the token of the next page; null after the last. */
function nextPage(text: string): string | null {
  const parsed = parsePages(text);
  const page = parsed.ok ? parsed.pages[0] : undefined;
  return page?.has_more === true && typeof page.next_page === "string" ? page.next_page : null;
}
