import { PICO_USD_PER_USD, parseDecimalToPico } from "../pricing/decimal.ts";
import { formatPicoUsd } from "../pricing/money.ts";
import { parseDuration } from "../values/duration.ts";
import { BILLING_MODES } from "../values/record-fields.ts";
import { normaliseSlug } from "../values/slug/normalise-slug.ts";
import { findZone } from "../values/zone.ts";
import {
  BUDGET_UNITS,
  type Budget,
  type BudgetPeriod,
  type BudgetScope,
  type BudgetUnit,
  CALENDAR_PERIODS,
  DEFAULT_THRESHOLDS,
  MAX_BUDGET_NAME,
  SCOPE_KEYS,
  type ScopeKey,
} from "./budget.ts";

/** A budget as `config.toml` and the command line state it. */
export type BudgetInput = Readonly<Record<string, unknown>>;

/** A budget, or what is wrong with it, as the end of "<key> …". */
export type ParsedBudget =
  | { readonly ok: true; readonly budget: Budget }
  | { readonly ok: false; readonly key: string; readonly problem: string };

/** The keys of a budget. */
export const BUDGET_KEYS: readonly string[] = [
  ...[
    "name",
    "amount",
    "period",
    "zone",
    "thresholds",
    "at_limit",
    "on_exceed",
    "reserve",
    "fail",
    "cool_down",
  ],
  ...SCOPE_KEYS,
];

/** The shortest and the longest rolling period and cool-down, in milliseconds. Source: docs/specification.md#budgets. */
const MIN_ROLLING_MS = 60_000;
const MAX_ROLLING_MS = 366 * 86_400_000;

const MAX_SCOPE_VALUES = 100;
const MAX_VALUE_CHARACTERS = 256;
const MAX_THRESHOLDS = 10;
const MAX_THRESHOLD = 1_000;

/** The largest amount: the largest signed 64-bit integer, which is over nine million USD in pico-USD. */
const MAX_LIMIT = 2n ** 63n - 1n;

class Invalid extends Error {
  readonly key: string;

  constructor(key: string, problem: string) {
    super(problem);
    this.key = key;
  }
}

/** Parses a budget. `zone` is that of calendar periods which state none. */
export function parseBudget(input: BudgetInput, { zone }: { readonly zone: string }): ParsedBudget {
  try {
    return { ok: true, budget: readBudget(input, zone) };
  } catch (cause) {
    if (!(cause instanceof Invalid)) throw cause;
    return { ok: false, key: cause.key, problem: cause.message };
  }
}

function readBudget(input: BudgetInput, zone: string): Budget {
  const unknown = Object.keys(input).find((key) => !BUDGET_KEYS.includes(key));
  if (unknown !== undefined) throw new Invalid(unknown, "is not a key of a budget");
  const { unit, limit } = readAmount(input.amount);
  const period = readPeriod(input, zone);
  const coolDownMs = input.cool_down === undefined ? null : readDuration(input.cool_down, "cool_down");
  if (coolDownMs !== null && period.kind !== "rolling")
    throw new Invalid("cool_down", "needs a period that is a duration, such as 1m");
  const atLimit = readChoice(input, "at_limit", ["warn", "block"]);
  const onExceed = readChoice(input, "on_exceed", ["finish", "cut"]);
  if (onExceed === "cut" && atLimit !== "block") throw new Invalid("on_exceed", 'needs at_limit = "block"');
  return {
    name: readName(input.name),
    scope: readScope(input),
    unit,
    limit,
    period,
    thresholds: readThresholds(input.thresholds),
    atLimit,
    onExceed,
    reserve: readFlag(input, "reserve"),
    fail: readChoice(input, "fail", ["open", "closed"]),
    coolDownMs,
  };
}

function readName(value: unknown): string {
  const name = typeof value === "string" ? value.trim() : "";
  // Names are in commands, messages and notifications.
  if (name.length > MAX_BUDGET_NAME || !/^[\p{L}\p{N}][\p{L}\p{N} ._:/@+-]*$/u.test(name))
    throw new Invalid(
      "name",
      `must be 1 to ${MAX_BUDGET_NAME} letters, digits, spaces or ._:/@+- and begin with a letter or digit`,
    );
  return name;
}

const AMOUNT = /^(\$?)\s*(\d{1,19}(?:\.\d{1,12})?)\s*([kKmM]?)\s*([a-zA-Z]*)$/;
const EXPECTED_AMOUNT = 'must be written like "25 USD", "2M tokens" or "500 requests"';
const MULTIPLES: Readonly<Record<string, bigint>> = { k: 1_000n, m: 1_000_000n };

function readAmount(value: unknown): Pick<Budget, "unit" | "limit"> {
  const text = typeof value === "number" || typeof value === "bigint" ? `${value}` : value;
  const [, dollar, digits = "", multiple = "", word = ""] =
    AMOUNT.exec(typeof text === "string" ? text.trim() : "") ?? [];
  const name = word.toLowerCase();
  const unit =
    dollar === "$" || name === "" ? "usd" : BUDGET_UNITS.find((each) => each === name || each === `${name}s`);
  const isTwice = dollar === "$" && name !== "" && name !== "usd";
  if (dollar === undefined || unit === undefined || isTwice) throw new Invalid("amount", EXPECTED_AMOUNT);
  const scaled = (parseDecimalToPico(digits) as bigint) * (MULTIPLES[multiple.toLowerCase()] ?? 1n);
  if (unit !== "usd" && scaled % PICO_USD_PER_USD !== 0n)
    throw new Invalid("amount", `must be a whole number of ${unit}`);
  const limit = unit === "usd" ? scaled : scaled / PICO_USD_PER_USD;
  if (limit > MAX_LIMIT) throw new Invalid("amount", "is too large");
  return { unit, limit };
}

function readPeriod(input: BudgetInput, defaultZone: string): BudgetPeriod {
  const value = input.period ?? "month";
  const kind = CALENDAR_PERIODS.find((each) => each === value);
  if (kind !== undefined) {
    const zone = input.zone ?? defaultZone;
    if (typeof zone !== "string" || findZone(zone) === null)
      throw new Invalid("zone", "must be the name of a time zone, such as Europe/Berlin");
    return { kind, zone };
  }
  if (input.zone !== undefined) throw new Invalid("zone", "needs a period of hour, day, week or month");
  if (value === "session" || value === "total") return { kind: value };
  return { kind: "rolling", lengthMs: readDuration(value, "period") };
}

function readDuration(value: unknown, key: string): number {
  const ms = typeof value === "string" ? parseDuration(value) : null;
  if (ms !== null && ms >= MIN_ROLLING_MS && ms <= MAX_ROLLING_MS) return ms;
  const words = key === "period" ? `${CALENDAR_PERIODS.join(", ")}, session, total, or ` : "";
  throw new Invalid(key, `must be ${words}a duration of 1m to 366d, such as 24h`);
}

function readScope(input: BudgetInput): BudgetScope {
  const scope: Partial<Record<ScopeKey, readonly string[]>> = {};
  for (const key of SCOPE_KEYS) {
    const value = input[key];
    if (value === undefined) continue;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (values.length === 0 || values.length > MAX_SCOPE_VALUES || !values.every(isScopeValue))
      throw new Invalid(key, "must be a name or a list of names");
    const wrong =
      key === "billing" && values.find((each) => !(BILLING_MODES as readonly string[]).includes(each));
    if (typeof wrong === "string") throw new Invalid(key, `must be one of ${BILLING_MODES.join(", ")}`);
    scope[key] = key === "project" ? values.map(normaliseProject) : values;
  }
  return scope;
}

const isScopeValue = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= MAX_VALUE_CHARACTERS && !/\p{Cc}/u.test(value);

/** Projects are stored as slugs. */
function normaliseProject(text: string): string {
  if (text.endsWith("*")) return text.toLowerCase();
  const slug = normaliseSlug(text);
  return slug === "" ? text : slug;
}

function readThresholds(value: unknown): readonly number[] {
  if (value === undefined) return DEFAULT_THRESHOLDS;
  // The integers of a TOML file may be bigints.
  const isPercent = (each: unknown) =>
    (typeof each === "bigint" || Number.isInteger(each)) &&
    Number(each) >= 1 &&
    Number(each) <= MAX_THRESHOLD;
  if (!Array.isArray(value) || value.length > MAX_THRESHOLDS || !value.every(isPercent))
    throw new Invalid("thresholds", "must be a list of whole numbers in percent, such as [50, 80, 100]");
  return [...new Set(value.map(Number))].sort((one, other) => one - other);
}

function readChoice<Choice extends string>(
  input: BudgetInput,
  key: string,
  [first, second]: readonly [Choice, Choice],
): Choice {
  const found = [first, second].find((each) => each === (input[key] ?? first));
  if (found === undefined) throw new Invalid(key, `must be ${first} or ${second}`);
  return found;
}

function readFlag(input: BudgetInput, key: string): boolean {
  const value = input[key] ?? false;
  if (typeof value !== "boolean") throw new Invalid(key, "must be true or false");
  return value;
}

const WORDS: Readonly<Record<BudgetUnit, string>> = { usd: "USD", tokens: "tokens", requests: "requests" };

/** Formats a duration as `parseDuration()` reads it: `90s` as `1m30s`. */
function formatDuration(ms: number): string {
  const parts: readonly [number, string][] = [
    [Math.floor(ms / 86_400_000), "d"],
    [Math.floor(ms / 3_600_000) % 24, "h"],
    [Math.floor(ms / 60_000) % 60, "m"],
    [Math.floor(ms / 1_000) % 60, "s"],
  ];
  return parts.flatMap(([count, unit]) => (count === 0 ? [] : [`${count}${unit}`])).join("");
}

/** Returns the input of a budget, the inverse of `parseBudget()`: plain JSON. */
export function toBudgetInput(budget: Budget): BudgetInput {
  const { name, unit, limit, period, scope, thresholds, atLimit, onExceed, reserve, fail, coolDownMs } =
    budget;
  return {
    name,
    amount: `${unit === "usd" ? formatPicoUsd(limit) : limit} ${WORDS[unit]}`,
    period: period.kind === "rolling" ? formatDuration(period.lengthMs) : period.kind,
    ...("zone" in period && { zone: period.zone }),
    ...scope,
    thresholds,
    at_limit: atLimit,
    ...(onExceed === "cut" && { on_exceed: onExceed }),
    reserve,
    fail,
    ...(coolDownMs !== null && { cool_down: formatDuration(coolDownMs) }),
  };
}
