import { formatPicoUsd } from "../core/pricing/money.ts";
import { type Columns, formatColumns } from "./page-file.ts";
import type { BudgetLine } from "./views/budgets.ts";
import type { LimitWindow } from "./views/limits.ts";

type Row =
  | { readonly kind: "limit"; readonly window: LimitWindow }
  | { readonly kind: "budget"; readonly line: BudgetLine };

/** Formats the amount of a budget in full: money in USD. */
export const formatExactAmount = (unit: string, amount: string): string =>
  unit === "usd" ? formatPicoUsd(BigInt(amount)) : amount;

const ofLimit = (read: (window: LimitWindow) => string | number | null | undefined) => (row: Row) =>
  row.kind === "limit" ? read(row.window) : null;
const ofBudget = (read: (line: BudgetLine) => string | number | null) => (row: Row) =>
  row.kind === "budget" ? read(row.line) : null;

const COLUMNS: Columns<Row> = [
  ["kind", ({ kind }) => kind],
  ["name", (row) => (row.kind === "limit" ? row.window.window : row.line.name)],
  ["provider", ofLimit(({ provider }) => provider)],
  ["account", ofLimit(({ account }) => account)],
  ["scope", ofLimit(({ scope }) => scope)],
  ["unit", (row) => (row.kind === "limit" ? row.window.unit : row.line.unit)],
  ["used", ofBudget(({ unit, spent }) => (spent === null ? null : formatExactAmount(unit, spent)))],
  ["limit", ofBudget(({ unit, limit }) => formatExactAmount(unit, limit))],
  ["used_percent", (row) => (row.kind === "limit" ? row.window.used_percent : row.line.used_percent)],
  ["state", (row) => (row.kind === "limit" ? row.window.level : row.line.status)],
  ["resets_at", (row) => (row.kind === "limit" ? row.window.resets_at : row.line.period_to)],
  ["full_at", (row) => (row.kind === "limit" ? row.window.full_at : row.line.gone_at)],
  ["seen_at", ofLimit(({ seen_at }) => seen_at)],
  ["machine", ofLimit(({ machine }) => machine)],
];

/** Formats limits, and the budgets that a page shows with them, as CSV. `full_at` is an estimate. */
export const limitsCsv = (windows: readonly LimitWindow[], budgets: readonly BudgetLine[] = []): string =>
  formatColumns(COLUMNS, [
    ...windows.map((window): Row => ({ kind: "limit", window })),
    ...budgets.map((line): Row => ({ kind: "budget", line })),
  ]);
