import type { NewestCalls } from "../core/metering/attribution/newest-calls.ts";
import type { PriceBook } from "../core/pricing/price-book.ts";
import type { UsageQuery } from "../core/pricing/view/usage-query.ts";
import type { UsageSeries } from "../core/pricing/view/usage-reports.ts";
import type { Millis } from "../core/values/time.ts";
import type { SavingsAnswer } from "../core/wire/savings.ts";
import type { UsageAnswer, UsageDimension, UsageForecast } from "../core/wire/usage.ts";
import type { CoverageFigure } from "./coverage-figure.ts";
import type { NameOfValue } from "./filters.ts";
import type { Html } from "./html.ts";
import type { PartReader } from "./page-parts.ts";
import type { PagePlace } from "./page-place.ts";
import type { FirstStep } from "./states.ts";
import type { ViewTools } from "./tools.ts";
import type { PriceAdvice } from "./views/request.ts";

/** An answer, or the problem with the query. */
export type UsageResult<Answer> =
  | { readonly ok: true; readonly value: Answer }
  | { readonly ok: false; readonly code: string; readonly detail: string };

/** The queries behind the overview besides its own. */
export interface OverviewQueries {
  /** Answered by each of the host's breakdowns. */
  readonly breakdowns: UsageQuery;
  readonly forecast: UsageQuery;
  readonly year: UsageQuery;
  readonly hours: UsageQuery;
}

/** Their answers. One whose query is refused is empty or null. */
export interface OverviewParts {
  readonly breakdowns: readonly UsageAnswer[];
  readonly forecast: UsageForecast | null;
  readonly year: UsageSeries | null;
  readonly hours: UsageSeries | null;
}

interface PageSpan {
  readonly from: Millis;
  readonly to: Millis;
}

/** The coverage of a period. For how long no meter ran is null if it is not known. */
export interface PeriodCoverage extends CoverageFigure {
  readonly stoppedMs: readonly number[] | null;
}

/** What the pages about usage need from a machine or a cloud. Equal data gives equal pages. */
export interface UsageHost extends PagePlace {
  /** Reads the parts without which the page is still of use. */
  readonly parts: PartReader;
  /** The dimensions that the host has. */
  readonly dimensions: readonly UsageDimension[];
  readUsage(query: UsageQuery): Promise<UsageResult<UsageAnswer>>;
  /** Answers the queries of the overview. Its breakdowns are by dimensions that are read from rollups. */
  readOverview(queries: OverviewQueries): Promise<OverviewParts>;
  /** Answers a query by several dimensions, each on its own. */
  readBreakdowns(
    query: UsageQuery,
    dimensions: readonly UsageDimension[],
  ): Promise<UsageResult<readonly UsageAnswer[]>>;
  /** Reads what could cost less: of the query, it takes the period, the zone, the buckets and the filters. */
  readSavings(query: UsageQuery): Promise<UsageResult<SavingsAnswer>>;
  /**
   * Reads how much of a period was metered, whatever the filters, and for how long no meter ran in each of its buckets. That is
   * not read without buckets.
   */
  readCoverage(span: PageSpan, buckets: readonly PageSpan[]): Promise<PeriodCoverage>;
  /** Reads the newest calls of a query's period and filters, by what sums do not have. */
  readNewestCalls(query: UsageQuery): Promise<UsageResult<NewestCalls>>;
  /** Returns the names of the values of filters that are IDs. */
  nameFilters(filters: UsageQuery["filters"]): Promise<NameOfValue>;
  /** Returns the steps to the first call; none if there was one. */
  firstSteps(): Promise<readonly FirstStep[]>;
  /** Returns how to give the models of an answer's unpriced requests a price. */
  priceFixes(usage: UsageAnswer): Promise<readonly PriceAdvice[]>;
  /** Returns all rates, past and current. */
  prices(): Promise<PriceBook>;
  /** Returns the remotes or folders of projects that share a folder name, by project. */
  projectOrigins(): ReadonlyMap<string, string>;
  /** Renders the exports of a view whose answer is at a path of the API, such as `/usage?by=model`. */
  renderTools(apiPath: string, tools: ViewTools): Html;
}
