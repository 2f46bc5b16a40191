import { nearest } from "../../core/operations/config/section-reader.ts";
import type { NavigationItem } from "../../pages/frame.ts";

/** The pages of the local dashboard, as the navigation groups them. */
export const NAVIGATION: readonly (readonly NavigationItem[])[] = [
  [
    { path: "/now", name: "Now" },
    { path: "/", name: "Overview" },
    { path: "/explore", name: "Explore" },
    { path: "/sessions", name: "Sessions" },
    { path: "/requests", name: "Requests" },
  ],
  [
    { path: "/projects", name: "Projects" },
    { path: "/models", name: "Models" },
  ],
  [
    { path: "/limits", name: "Limits" },
    { path: "/savings", name: "Savings" },
    { path: "/coverage", name: "Coverage" },
  ],
  [
    { path: "/statement", name: "Statement" },
    { path: "/privacy", name: "Privacy" },
    { path: "/settings", name: "Settings" },
  ],
];

const paths = new Set(NAVIGATION.flat().map(({ path }) => path));

/** The lists whose items have pages. */
const LISTS = ["/requests/", "/sessions/", "/statement/"];

/** The paths of the API and of the files that pages load. */
const PROGRAMS = ["/v1", "/otlp", "/health", "/metrics", "/assets"];

/** Whether the path is a page of the dashboard. */
export const isPagePath = (path: string): boolean =>
  paths.has(path) || LISTS.some((list) => path.startsWith(list));

/** Whether the path belongs to the API or to a file that pages load. These are never navigated to. */
export const isProgramPath = (path: string): boolean =>
  PROGRAMS.some((prefix) => path === prefix || path.startsWith(`${prefix}/`));

/** Returns the name of the page at a path of the navigation. */
export const pageNameOf = (path: string): string =>
  NAVIGATION.flat().find((item) => item.path === path)?.name ?? "Error";

/** Returns the page whose name or path is nearest to a mistyped path; null if none is near. */
export function findNearestPage(path: string): NavigationItem | null {
  const items = NAVIGATION.flat();
  const words = new Map(items.map((item) => [item.name.toLowerCase(), item]));
  return words.get(nearest(path.slice(1).toLowerCase(), [...words.keys()]) ?? "") ?? null;
}
