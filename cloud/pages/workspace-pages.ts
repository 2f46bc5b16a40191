import { USAGE_PAGES } from "../../pages/usage-pages.ts";
import { changeKeys, showKeys } from "./keys-page.ts";
import { changeMachines, showMachines } from "./machines-page.ts";
import { changeMembers, showMembers } from "./members-page.ts";
import { showRequest, showRequests } from "./requests-page.ts";
import { changeSettings, showSettings } from "./settings-page.ts";
import { showUsagePage } from "./usage-pages.ts";
import type { WorkspacePage } from "./workspace-page.ts";

const usagePage = (path: keyof typeof USAGE_PAGES, name: string): WorkspacePage => ({
  path,
  name,
  get: (call) => showUsagePage(call, USAGE_PAGES[path]),
});

/** Every page of a workspace, in the groups and the order of the navigation. */
export const WORKSPACE_PAGES: readonly (readonly WorkspacePage[])[] = [
  [
    usagePage("/", "Overview"),
    usagePage("/explore", "Explore"),
    { path: "/requests", name: "Requests", get: showRequests },
    { path: "/requests/:id", get: showRequest },
  ],
  [
    usagePage("/projects", "Projects"),
    usagePage("/models", "Models"),
    { path: "/machines", name: "Machines", get: showMachines, post: changeMachines },
  ],
  [
    { path: "/settings", name: "Settings", get: showSettings, post: changeSettings },
    // The answer to a new key shows its token, and that to an invitation its link.
    { path: "/keys", name: "Keys", showsSecret: true, get: showKeys, post: changeKeys },
    { path: "/members", name: "Members", showsSecret: true, get: showMembers, post: changeMembers },
  ],
];
