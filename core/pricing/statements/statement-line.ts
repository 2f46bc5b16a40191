import type { JsonObject } from "../../values/json-object.ts";
import type { CalendarDate } from "../../values/time.ts";

/**
 * The kinds of tokens that statements bill apart. `input` is fresh input. `all input` includes the cache, for statements
 * that state only the sum. `output` includes thinking.
 */
export const TOKEN_PARTS = [
  "input",
  "all input",
  "cache read",
  "cache write",
  "cache write 1h",
  "output",
] as const;
export type TokenPart = (typeof TOKEN_PARTS)[number];

/** Token counts by part. An absent part is not stated. */
export type PartCounts = Partial<Record<TokenPart, bigint>>;

/**
 * What a line bills. `usage` is for a model; `fee` for something apart from models, such as a web search; `credit` and `tax`
 * belong to no call.
 */
export type LineKind = "usage" | "fee" | "credit" | "tax";

/** One line of a provider's statement. */
export interface StatementLine {
  readonly date: CalendarDate;
  readonly kind: LineKind;
  /** The model as the statement names it. Null if the line names none. */
  readonly model: string | null;
  /** The statement's id or name of the API key, the workspace or the account. */
  readonly key: string | null;
  /** The service tier, such as `batch`. Null: standard, or not stated. */
  readonly tier: string | null;
  /** What the cost is for. Null: everything that the line names. */
  readonly part: TokenPart | null;
  /** Null if the statement states usage only. */
  readonly costPicoUsd: bigint | null;
  readonly tokens: PartCounts;
  readonly requests: number | null;
  /** What a fee, a credit or a tax is for, in the statement's words. */
  readonly item: string | null;
}

/** What a format says about all of its lines. */
export interface StatementFormat {
  /** For people, such as `Anthropic cost report`. */
  readonly name: string;
  /** The provider by the name of our records. */
  readonly provider: string;
  /** What the statement states. Two files that state the same for one day would count it twice. */
  readonly states: "cost" | "usage" | "both";
  /** What `StatementLine.key` is. Null if the format names no key. */
  readonly keyIs: string | null;
  /** Whether fees have separate lines and are not part of the model's cost. */
  readonly hasFeesApart: boolean;
  /** The unit that amounts are rounded to, in pico-USD, unless an amount has more decimals. */
  readonly unitPicoUsd: bigint;
  /** The service tiers that the provider leaves out of this statement. */
  readonly omittedTiers: readonly string[];
}

/** The lines of a row or page, or why it can't be read. An empty list: the row bills nothing of ours, such as another product. */
export type ReadLines =
  | { readonly ok: true; readonly lines: readonly StatementLine[] }
  | { readonly ok: false; readonly problem: string };

/** A row of a CSV or Parquet file by column. All values are text. */
export type StatementRow = Readonly<Record<string, string>>;

/** A format of rows. */
export interface RowFormat extends StatementFormat {
  /** Whether a table with these columns has this format. */
  matches(columns: ReadonlySet<string>): boolean;
  readRow(row: StatementRow): ReadLines;
}

/** A format of an API's pages. */
export interface PageFormat extends StatementFormat {
  matches(page: JsonObject): boolean;
  readPage(page: JsonObject): ReadLines;
}

/** A line of usage, to copy and fill in. */
export const EMPTY_LINE = {
  kind: "usage",
  model: null,
  key: null,
  tier: null,
  part: null,
  costPicoUsd: null,
  tokens: {},
  requests: null,
  item: null,
} as const satisfies Omit<StatementLine, "date">;
