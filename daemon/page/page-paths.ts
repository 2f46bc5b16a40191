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
  ],
];

const paths = new Set(NAVIGATION.flat().map(({ path }) => path));

/** The lists whose items have pages. */
const LISTS = ["/requests/", "/sessions/", "/statement/"];

/** Whether the path is a page of the dashboard, to which a person may navigate. */
export const isPagePath = (path: string): boolean =>
  paths.has(path) || LISTS.some((list) => path.startsWith(list));
