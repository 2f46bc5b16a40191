import { USAGE_PAGES } from "../../pages/usage-pages.ts";
import { showUsagePage } from "./usage-pages.ts";
import type { WorkspacePage } from "./workspace-page.ts";

const usagePage = (path: keyof typeof USAGE_PAGES, name: string): WorkspacePage => ({
  path,
  name,
  get: (call) => showUsagePage(call, USAGE_PAGES[path]),
});

/** Every page of a workspace, in the groups and the order of the navigation. */
export const WORKSPACE_PAGES: readonly (readonly WorkspacePage[])[] = [
  [usagePage("/", "Overview"), usagePage("/explore", "Explore")],
  [usagePage("/projects", "Projects"), usagePage("/models", "Models")],
];
