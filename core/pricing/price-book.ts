import { DAY_MS, type Millis } from "../values/time.ts";
import {
  dashDate,
  type MatchRule,
  matchesRule,
  normaliseModelName,
  withoutResourcePath,
  withoutSnapshot,
} from "./model-match.ts";
import { fallbackLists, priceListOf } from "./provider-names.ts";
import type { RateRow } from "./rates.ts";

/** A query for the price of a model at a time. */
export interface RateQuery {
  provider: string;
  /** The model that the response names. */
  model: string;
  /** The model that the request names. */
  requestedModel: string | null;
  at: Millis;
}

/** Finds the rate that applies to a request. Pure except for a cache of model names. */
export interface PriceBook {
  readonly rows: readonly RateRow[];
  /**
   * Returns the row that applies. An operator row takes precedence, then the newer provenance date, then pulled over
   * bundled.
   */
  find(query: RateQuery): RateRow | null;
  /** Returns the row that applies without operator rows. Pulls are compared with it. */
  findPublished(query: RateQuery): RateRow | null;
  /** Returns the row that applies among the bundled rows. */
  findBundled(query: RateQuery): RateRow | null;
  /** Returns the name of the price list of a provider: the one that the operator named, or the provider's own. */
  listOf(provider: string): string;
}

/** Options of a price book. */
export interface PriceBookOptions {
  /**
   * The price list of each provider whose models have no rates of their own, such as a company's gateway to OpenAI. Source:
   * `prices` in `[[providers]]`.
   */
  readonly lists?: Readonly<Record<string, string>>;
}

/** Maximum number of cached names, because clients choose names. */
const MAX_CACHED_NAMES = 10_000;

interface DatedRow {
  row: RateRow;
  fromMillis: number;
  toMillis: number;
}

/** The bundled rows of one model, oldest first. */
interface Group {
  provider: string;
  model: string;
  rows: DatedRow[];
  /** Its place in the list: the first group that matches wins. */
  position: number;
  rule: MatchRule | null;
}

interface PriceList {
  groups: Map<string, Group>;
  /** The first group without a rule of each name. */
  named: Map<string, Group>;
  /** The groups with a rule, in order. */
  ruled: Group[];
  auto: Map<string, DatedRow[]>;
  operator: Map<string, DatedRow[]>;
}

/** All rows that could price a name, at any date. */
interface Candidates {
  operator: readonly DatedRow[];
  auto: readonly DatedRow[];
  bundled: readonly DatedRow[];
}

const NO_ROWS: readonly DatedRow[] = [];
const NO_CANDIDATES: Candidates = { operator: NO_ROWS, auto: NO_ROWS, bundled: NO_ROWS };

/**
 * Creates a price book from the rows of all sources. Bundled rows match by their rules; the first match wins. The rows of
 * one model form a history in which the later row wins if two apply. Other rows match their own name; an operator's name
 * may end in `*`. Throws a RangeError for an invalid date.
 */
export function createPriceBook(rows: readonly RateRow[], options: PriceBookOptions = {}): PriceBook {
  const lists = new Map<string, PriceList>();
  for (const row of rows) addRow(lists, row);
  for (const list of lists.values()) {
    for (const history of list.auto.values()) history.sort(byProvenance);
    for (const history of list.operator.values()) history.sort((a, b) => a.fromMillis - b.fromMillis);
  }

  const named = new Map(
    Object.entries(options.lists ?? {}).map(([provider, list]) => [provider, priceListOf(list)]),
  );
  const candidatesFor = cacheCandidates((provider, model) => {
    const name = normaliseModelName(model);
    const own = findCandidates(lists, priceListOf(provider), name);
    const other = named.get(provider);
    return own === NO_CANDIDATES && other !== undefined ? findCandidates(lists, other, name) : own;
  });

  function candidatesOf(query: RateQuery): Candidates {
    const candidates = candidatesFor(query.provider, query.model);
    return candidates === NO_CANDIDATES && query.requestedModel !== null && mayUseRequestedModel(query)
      ? candidatesFor(query.provider, query.requestedModel)
      : candidates;
  }

  return {
    rows,
    find(query) {
      const candidates = candidatesOf(query);
      return applicable(candidates.operator, query.at) ?? published(candidates, query.at);
    },
    findPublished: (query) => published(candidatesOf(query), query.at),
    findBundled: (query) => applicable(candidatesOf(query).bundled, query.at),
    listOf: (provider) => named.get(provider) ?? priceListOf(provider),
  };
}

/** Caches the candidates of up to `MAX_CACHED_NAMES` names. */
function cacheCandidates(
  search: (provider: string, model: string) => Candidates,
): (provider: string, model: string) => Candidates {
  const cache = new Map<string, Map<string, Candidates>>();
  let cachedNames = 0;
  return (provider, model) => {
    let ofProvider = cache.get(provider);
    const known = ofProvider?.get(model);
    if (known !== undefined) return known;
    const found = search(provider, model);
    if (cachedNames >= MAX_CACHED_NAMES) {
      cache.clear();
      cachedNames = 0;
      ofProvider = undefined;
    }
    if (ofProvider === undefined) cache.set(provider, (ofProvider = new Map()));
    ofProvider.set(model, found);
    cachedNames++;
    return found;
  };
}

/** Returns the row that applies without operator rows: of pulled and bundled rows the newer, at the same date the pulled one. */
function published(candidates: Candidates, at: Millis): RateRow | null {
  const auto = applicable(candidates.auto, at);
  const bundled = applicable(candidates.bundled, at);
  if (auto === null || bundled === null) return auto ?? bundled;
  return bundled.provenanceDate > auto.provenanceDate ? bundled : auto;
}

/**
 * Whether the price of the requested model may be used.
 *
 * Decision: the provider bills the model that the response names. The requested model is used only if the response names
 * none, or names a snapshot of it that no price list contains yet.
 */
function mayUseRequestedModel({ model, requestedModel }: RateQuery): boolean {
  return model === "" || model === "unknown" || model.startsWith(`${requestedModel}-`);
}

function addRow(lists: Map<string, PriceList>, row: RateRow): void {
  const listName = priceListOf(row.provider);
  let list = lists.get(listName);
  if (list === undefined) {
    list = { groups: new Map(), named: new Map(), ruled: [], auto: new Map(), operator: new Map() };
    lists.set(listName, list);
  }
  const dated = {
    row,
    fromMillis: dayStart(row.effectiveFrom, -Infinity),
    toMillis: dayStart(row.effectiveTo, Infinity),
  };
  if (row.source === "bundled") {
    // Two sources can use one name for what they match differently.
    const key = `${row.model} ${row.origin?.name ?? ""}`;
    const group = list.groups.get(key);
    if (group === undefined) addGroup(list, key, listName, dated);
    else group.rows.push(dated);
    return;
  }
  const names = list[row.source];
  const name = normaliseModelName(row.model);
  const history = names.get(name);
  if (history === undefined) names.set(name, [dated]);
  else history.push(dated);
}

function addGroup(list: PriceList, key: string, provider: string, dated: DatedRow): void {
  const { model, match: rule } = dated.row;
  const group: Group = { provider, model, rows: [dated], position: list.groups.size, rule };
  list.groups.set(key, group);
  const name = normaliseModelName(model);
  if (rule !== null) list.ruled.push(group);
  else if (!list.named.has(name)) list.named.set(name, group);
}

function dayStart(date: string | null, otherwise: number): number {
  if (date === null) return otherwise;
  const millis = Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(millis))
    throw new RangeError(`the effective date must be YYYY-MM-DD: current value is "${date}"`);
  return millis;
}

function byProvenance(a: DatedRow, b: DatedRow): number {
  if (a.row.provenanceDate !== b.row.provenanceDate)
    return a.row.provenanceDate < b.row.provenanceDate ? -1 : 1;
  return a.fromMillis === b.fromMillis ? 0 : a.fromMillis - b.fromMillis;
}

/**
 * The prefix of a cross-region inference profile. Claude is left out: there a profile costs more than the global one, so a price
 * without a region says nothing about it.
 */
const CROSS_REGION_PREFIX = /^(?:us|us-gov|eu|apac|jp|au|ca|sa|global)\.(?!anthropic\.)/;

/**
 * Returns the name without what an endpoint puts before it: the publisher of a partner model on Vertex
 * (`meta/llama-4-scout-17b-16e-instruct-maas`), or a region on Bedrock (`us.cohere.embed-v4:0`). A row of the whole name takes
 * precedence.
 */
function withoutPrefix(listName: string, bare: string): string {
  if (listName === "google") return bare.slice(bare.lastIndexOf("/") + 1);
  return listName === "aws" ? bare.replace(CROSS_REGION_PREFIX, "") : bare;
}

function findCandidates(lists: Map<string, PriceList>, listName: string, name: string): Candidates {
  const bare = withoutResourcePath(name);
  let group: Group | null = null;
  const short = withoutPrefix(listName, bare);
  for (const form of new Set([name, dashDate(name), bare, dashDate(bare), withoutSnapshot(bare), short])) {
    group ??= findGroup(lists, listName, form);
  }

  const names = [name, bare, dashDate(bare)];
  // A snapshot may have its own price. The name without the date is used only if the bundled list also treats both as one
  // model.
  const base = withoutSnapshot(bare);
  if (group === null || findGroup(lists, listName, base) === group) names.push(base);
  names.push(short);
  if (group !== null) names.push(normaliseModelName(group.model));

  const list = lists.get(listName);
  const makers = group === null ? fallbackLists(listName) : [group.provider];
  const operator = byName(list?.operator, names) ?? byPrefix(list?.operator, [name, bare]) ?? NO_ROWS;
  const auto =
    byName(list?.auto, names) ??
    makers.map((maker) => byName(lists.get(maker)?.auto, names)).find((rows) => rows !== null) ??
    NO_ROWS;
  const bundled = group?.rows ?? NO_ROWS;
  return operator === NO_ROWS && auto === NO_ROWS && bundled === NO_ROWS
    ? NO_CANDIDATES
    : { operator, auto, bundled };
}

function findGroup(lists: Map<string, PriceList>, listName: string, name: string): Group | null {
  for (const candidate of [listName, ...fallbackLists(listName)]) {
    const list = lists.get(candidate);
    const named = list?.named.get(name);
    for (const group of list?.ruled ?? []) {
      if (named !== undefined && group.position > named.position) break;
      if (group.rule !== null && matchesRule(group.rule, name)) return group;
    }
    if (named !== undefined) return named;
  }
  return null;
}

function byName(
  map: Map<string, DatedRow[]> | undefined,
  names: readonly string[],
): readonly DatedRow[] | null {
  if (map === undefined || map.size === 0) return null;
  for (const name of names) {
    const found = map.get(name);
    if (found !== undefined) return found;
  }
  return null;
}

/** Returns the rows of the operator's longest pattern, such as `claude-*`, that matches one of the names. */
function byPrefix(
  map: Map<string, DatedRow[]> | undefined,
  names: readonly string[],
): readonly DatedRow[] | null {
  let longest = "";
  for (const pattern of map?.keys() ?? []) {
    if (!pattern.endsWith("*") || pattern.length <= longest.length) continue;
    if (names.some((name) => name.startsWith(pattern.slice(0, -1)))) longest = pattern;
  }
  return map?.get(longest) ?? null;
}

function applicable(history: readonly DatedRow[], at: Millis): RateRow | null {
  for (let index = history.length - 1; index >= 0; index--) {
    const { row, fromMillis, toMillis } = history[index]!;
    if (at >= fromMillis && at < toMillis && inDailyWindow(row, at)) return row;
  }
  return null;
}

function inDailyWindow({ daily }: RateRow, at: Millis): boolean {
  if (daily === null) return true;
  if (daily.weekdaysOnly === true && isWeekend(at)) return false;
  const second = (((at % DAY_MS) + DAY_MS) % DAY_MS) / 1000;
  return daily.toSecond < daily.fromSecond
    ? second >= daily.fromSecond || second < daily.toSecond
    : second >= daily.fromSecond && second < daily.toSecond;
}

function isWeekend(at: Millis): boolean {
  const day = new Date(at).getUTCDay();
  return day === 0 || day === 6;
}
