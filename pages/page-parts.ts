import { html } from "hono/html";
import type { CoverageFigure } from "./coverage-figure.ts";
import type { Html } from "./html.ts";

/** The parts of pages, as they are named if they can't be read. */
export type PartName =
  | "limits"
  | "budgets"
  | "coverage"
  | "menus of filters"
  | "names of filters"
  | "names of people"
  | "number of requests"
  | "breakdowns"
  | "breakdowns, estimate, days of the year and hours of the week"
  | "branches"
  | "estimate of this month"
  | "days of the year"
  | "hours of the week"
  | "prices of models"
  | "first steps"
  | "saved views"
  | "requests of the session"
  | "requests with the same prompt"
  | "stored prompt and answer"
  | "origins of projects"
  | "how projects were found"
  | "projects that stay on this machine"
  | "projects that keep bodies"
  | "calls by time"
  | "times without the meter"
  | "what was not metered"
  | "state of the cloud"
  | "members"
  | "machines"
  | "invitations"
  | "erasures"
  | "stored requests by person";

/** A part of a page that could not be read. */
export interface FailedPart {
  readonly name: string;
  /** The code of the problem. */
  readonly code: string;
}

/** Reads the parts of one page. A part that fails does not empty the page, which shows the others and names this one. */
export interface PartReader {
  /** The parts that failed so far. */
  readonly failed: readonly FailedPart[];
  /** Reads a part. If this fails, returns `without`: what the page shows in its place, which must not look like a figure. */
  read<Value>(name: PartName, read: () => Value | Promise<Value>, without: Value): Promise<Value>;
}

/** Creates the reader of a page's parts. `report` logs an error and returns its problem code, or throws what is no failure. */
export function createPartReader(report: (error: unknown) => string): PartReader {
  const failed: FailedPart[] = [];
  return {
    failed,
    async read(name, read, without) {
      try {
        return await read();
      } catch (error) {
        failed.push({ name, code: report(error) });
        return without;
      }
    },
  };
}

/** Reads the parts of what has all of them, such as an answer of the API: a failure is thrown. */
export const WHOLE: PartReader = { failed: [], read: async (_, read) => await read() };

/** The answer to a query that could not be read. */
export const UNREAD = { ok: false, code: "internal", detail: "This part could not be read." } as const;

/** The coverage of a page that could not read it. */
export const UNREAD_COVERAGE: CoverageFigure = {
  metered: 0,
  seen: 0,
  permille: null,
  unknown_machines: null,
  isUnread: true,
};

/** Renders at the place of a part that it could not be read. */
export const renderUnread = (name: PartName): Html =>
  html`<div class="notice bad" role="note">Could not be read: ${name}.</div>`;

/** Renders at their place which of some parts could not be read. */
export const renderUnreadOf = (failed: readonly FailedPart[], ...names: readonly PartName[]): Html | "" => {
  const unread = names.filter((name) => failed.some((part) => part.name === name));
  return unread.length === 0 ? "" : html`${unread.map(renderUnread)}`;
};

/** Renders which parts could not be read, with their codes and a link that tries again. */
export function renderFailedParts(failed: readonly FailedPart[], address: string): Html | "" {
  if (failed.length === 0) return "";
  const codes = [...new Set(failed.map(({ code }) => code))];
  const names = failed.map(({ name }) => name).join(", ");
  return html`<div class="notice bad" role="alert">Could not be read: ${names}. The rest of this page is up to date. ${codes.length === 1 ? "Code" : "Codes"}: ${codes.map((code, at) => html`${at === 0 ? "" : ", "}<code>${code}</code>`)}. <a href="${address}">Try again</a></div>`;
}
