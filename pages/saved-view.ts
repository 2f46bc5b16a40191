import type { SavedViewPage } from "../core/wire/saved-views.ts";
import type { UsageDimension } from "../core/wire/usage.ts";
import { readUsageView, type UsageViewSpec, usageHref } from "./usage-view.ts";
import { viewHref } from "./view.ts";
import { readCoverageView, WORKSPACE_COVERAGE } from "./views/coverage.ts";
import { EXPLORE_VIEW } from "./views/explore-view.ts";
import { MODELS_VIEW } from "./views/model-lines.ts";
import { OVERVIEW_VIEW } from "./views/overview.ts";
import { PROJECTS_VIEW } from "./views/projects.ts";
import { readRequestsView, requestsSpec } from "./views/requests.ts";
import { SAVINGS_VIEW } from "./views/savings.ts";
import { readSessionsView, sessionsSpec } from "./views/sessions.ts";

/** The shortest query string of a page's state, or the keys and values that the page does not have, as sentences. */
type SavedQuery =
  | { readonly ok: true; readonly query: string }
  | { readonly ok: false; readonly problems: readonly string[] };

type ReadSaved = (parameters: URLSearchParams, dimensions: readonly UsageDimension[]) => SavedQuery;

const toQuery = (href: string, notices: readonly string[]): SavedQuery =>
  notices.length > 0 ? { ok: false, problems: notices } : { ok: true, query: href.split("?")[1] ?? "" };

const ofUsage =
  (spec: UsageViewSpec): ReadSaved =>
  (parameters) => {
    const view = readUsageView(spec, parameters);
    return toQuery(usageHref(view), view.notices);
  };

const PAGES: Readonly<Record<SavedViewPage, ReadSaved>> = {
  "/": ofUsage(OVERVIEW_VIEW),
  "/explore": ofUsage(EXPLORE_VIEW),
  "/projects": ofUsage(PROJECTS_VIEW),
  "/models": ofUsage(MODELS_VIEW),
  "/savings": ofUsage(SAVINGS_VIEW),
  "/requests": (parameters, dimensions) => {
    const view = readRequestsView(requestsSpec("/requests", dimensions), parameters);
    // A saved list begins with its first page.
    return toQuery(viewHref(view, { values: {} }), view.notices);
  },
  "/sessions": (parameters, dimensions) => {
    const view = readSessionsView(sessionsSpec(dimensions), parameters);
    return toQuery(viewHref(view), view.notices);
  },
  "/coverage": (parameters) => {
    const view = readCoverageView(WORKSPACE_COVERAGE, parameters);
    return toQuery(viewHref(view), view.notices);
  },
};

/**
 * Checks the query string of a page, and returns its shortest form. So a saved view can only lead to its page. `dimensions` are those that
 * lists of requests can filter by.
 */
export const readSavedQuery = (
  page: SavedViewPage,
  query: string,
  dimensions: readonly UsageDimension[],
): SavedQuery => PAGES[page](new URLSearchParams(query), dimensions);
