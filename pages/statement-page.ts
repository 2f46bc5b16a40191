import { html } from "hono/html";
import type { PriceBook } from "../core/pricing/price-book.ts";
import { compareUsage } from "../core/pricing/view/compare-usage.ts";
import { DEFAULT_USAGE_QUERY, MAX_USAGE_TOP, type UsageQuery } from "../core/pricing/view/usage-query.ts";
import { findZone, monthOf, type ZoneCalendar } from "../core/values/zone.ts";
import { parseCalendarDate } from "../core/wire/instant.ts";
import type { UsageAnswer } from "../core/wire/usage.ts";
import type { FramedPage } from "./frame.ts";
import type { Html } from "./html.ts";
import { pageHref } from "./page-place.ts";
import { renderState } from "./states.ts";
import { nameMonth } from "./times.ts";
import type { UsageHost, UsageResult } from "./usage-host.ts";
import { linksOf } from "./usage-pages.ts";
import { renderStatement, type Statement, type StatementRate, statementContent } from "./views/statement.ts";

/** The path of the latest statement. That of a month is below it. */
const STATEMENT_PATH = "/statement";

/** What a statement needs from a host. */
export interface StatementHost {
  readonly usage: UsageHost;
  /** The zone of days. */
  readonly zone: string;
  /** The workspace or the machine. */
  readonly subject: string;
  /** Whether requests have people. */
  readonly hasPeople: boolean;
  /** The command that shows the same figures; absent if there is none. */
  readonly command?: (month: string) => string;
  /** Returns the SHA-256 of a text's UTF-8, lower-case hex. */
  hashText(text: string): string;
}

/** A page for the frame, a file, or the address of the latest month. */
export type StatementPage =
  | { readonly kind: "page"; readonly status: 200 | 404; readonly page: FramedPage }
  | { readonly kind: "file"; readonly name: string; readonly type: string; readonly text: string }
  | { readonly kind: "redirect"; readonly href: string };

/**
 * Shows the statement of a month, `2026-11`, or its content as JSON. Without a month, leads to the last one that has ended.
 */
export async function showStatement(
  host: StatementHost,
  month: string | null,
  parameters: URLSearchParams,
): Promise<StatementPage> {
  const zone = findZone(host.zone) ?? findZone("UTC");
  if (zone === null) throw new Error("the runtime does not know UTC");
  const { now, base } = host.usage;
  const current = monthOf(zone.dateAt(now));
  if (month === null) return { kind: "redirect", href: monthHref(base, monthOf(current, -1)) };
  const first =
    /^\d{4}-\d\d$/.test(month) && parseCalendarDate(`${month}-01`) !== null ? `${month}-01` : null;
  if (first === null || first > current || first < "1970-01-01") return noStatement(base, current);
  const statement = await readStatement(host, zone, first, current);
  if (!statement.ok) return noStatement(base, current, statement.detail);
  const content = statementContent(statement.value);
  if (parameters.get("format") === "json")
    return { kind: "file", name: `statement-${month}.json`, type: "application/json", text: content };
  return {
    kind: "page",
    status: 200,
    page: {
      heading: "Statement",
      title: month,
      path: STATEMENT_PATH,
      controls: renderMonths(base, first, current),
      main: renderStatement(statement.value, host.hashText(content)),
      // The month before is no period that the query compares with.
      tools: host.usage.renderTools(
        `/usage?from=${first}&to=${monthOf(first, 1)}&by=project&then=model&compare=none`,
        {
          json: `${monthHref(base, first)}?format=json`,
          ...(host.command && { command: host.command(month) }),
        },
      ),
    },
  };
}

const monthHref = (base: string, first: string): string =>
  pageHref(base, `${STATEMENT_PATH}/${first.slice(0, 7)}`);

function noStatement(base: string, current: string, detail?: string): StatementPage {
  const last = monthOf(current, -1);
  const main = renderState(
    "There is no statement of this month",
    detail ?? "A month is written 2026-11, and has begun.",
    html`<p><a href="${monthHref(base, last)}">The statement of ${nameMonth(last)}</a></p>`,
  );
  return { kind: "page", status: 404, page: { heading: "Statement", path: STATEMENT_PATH, main } };
}

/** Renders links to the months before and after. */
function renderMonths(base: string, first: string, current: string): Html {
  const [before, after] = [monthOf(first, -1), monthOf(first, 1)];
  const link = (to: string, rel: "prev" | "next") =>
    html`<li><a href="${monthHref(base, to)}" rel="${rel}" data-key="${rel === "prev" ? "ArrowLeft" : "ArrowRight"}">${nameMonth(to)}</a></li>`;
  return html`<nav aria-label="Months"><ul class="switch">${before < "1970-01-01" ? "" : link(before, "prev")}${after > current ? "" : link(after, "next")}</ul></nav>`;
}

async function readStatement(
  { usage: host, zone, subject, hasPeople }: StatementHost,
  calendar: ZoneCalendar,
  first: string,
  current: string,
): Promise<UsageResult<Statement>> {
  const isComplete = first < current;
  const read = await readMonth(host, zone, first, hasPeople, "day");
  if (!read.ok) return read;
  // A month that has not ended would be compared with a longer time.
  const before = isComplete ? await readMonth(host, zone, monthOf(first, -1), hasPeople, "none") : null;
  const at = Math.min(calendar.startOf(monthOf(first, 1)) - 1, host.now);
  return {
    ok: true,
    value: {
      month: first.slice(0, 7),
      title: nameMonth(first),
      titleBefore: nameMonth(monthOf(first, -1)),
      subject,
      ...(before?.ok === true && isWhole(before.value)
        ? compareMonths(read.value, before.value)
        : read.value),
      rates: listRates(read.value.models, await host.prices(), at),
      isComplete,
      links: linksOf(host, { period: periodOf(first) }),
    },
  };
}

const periodOf = (first: string) => ({ from: first, to: monthOf(first, 1) });

/** The sums of a month. */
type Month = Pick<Statement, "usage" | "models" | "people">;

async function readMonth(
  host: UsageHost,
  tz: string,
  first: string,
  hasPeople: boolean,
  bucket: "day" | "none",
): Promise<UsageResult<Month>> {
  const query: UsageQuery = {
    ...DEFAULT_USAGE_QUERY,
    period: periodOf(first),
    compare: "none",
    tz,
    top: MAX_USAGE_TOP,
    bucket: "none",
  };
  const usage = await host.readUsage({ ...query, by: "project", thenBy: "model", bucket });
  if (!usage.ok) return usage;
  const people = hasPeople ? await host.readUsage({ ...query, by: "person" }) : null;
  if (people !== null && !people.ok) return people;
  const models = await host.readUsage({ ...query, by: "model", thenBy: "provider" });
  if (!models.ok) return models;
  return { ok: true, value: { usage: usage.value, models: models.value, people: people?.value ?? null } };
}

/** Whether all requests of a month can still be read. */
const isWhole = ({ usage: { caveats } }: Month): boolean => caveats.every(({ kind }) => kind !== "clamped");

const compareMonths = ({ usage, models, people }: Month, before: Month): Month => ({
  usage: compareUsage(usage, before.usage),
  models: compareUsage(models, before.models),
  people: people === null || before.people === null ? people : compareUsage(people, before.people),
});

/** Lists the sources of the rates of an answer's models at a time. A model without a rate is left out. */
function listRates({ rows }: UsageAnswer, book: PriceBook, at: number): readonly StatementRate[] {
  return rows.flatMap(({ key: model, cells }) =>
    cells.flatMap(({ key: provider }): StatementRate[] => {
      if (model === null || provider === null) return [];
      const row = book.find({ provider, model, requestedModel: null, at });
      if (row === null) return [];
      const source = row.origin?.name ?? row.source;
      return [{ provider, model, source, statedOn: row.provenanceDate }];
    }),
  );
}
