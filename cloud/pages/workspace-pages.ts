import { USAGE_PAGES } from "../../pages/usage-pages.ts";
import { showAuditEvents } from "./audit-events-page.ts";
import { AUDIT_ACCESS } from "./audit-parts.ts";
import { showVerification } from "./audit-verification-page.ts";
import { showPromptViews } from "./audit-views-page.ts";
import { changeBudgets, showBudgets } from "./budgets-page.ts";
import { showCoverage } from "./coverage-page.ts";
import { changeKeys, showKeys } from "./keys-page.ts";
import { showLimits } from "./limits-page.ts";
import { changeMachines, showMachines } from "./machines-page.ts";
import { changeMembers, showMembers } from "./members-page.ts";
import { showNow } from "./now-page.ts";
import type { PageCall } from "./page-call.ts";
import { redirectTo } from "./page-parts.ts";
import { showPeople } from "./people-page.ts";
import { downloadCertificate, erasePromptsOnPage, showPrivacy } from "./privacy-page.ts";
import { readRequestBody, showAuditRequests, showRequest, showRequests } from "./requests-page.ts";
import { changeSavedViews, showSavedViews } from "./saved-views-page.ts";
import { showSession, showSessions } from "./sessions-page.ts";
import { changeSettings, showSettings } from "./settings-page.ts";
import { showWorkspaceStatement } from "./statement-page.ts";
import { showUsagePage } from "./usage-pages.ts";
import type { WorkspacePage } from "./workspace-page.ts";

const usagePage = (path: keyof typeof USAGE_PAGES, name: string): WorkspacePage => ({
  path,
  name,
  get: (call) => showUsagePage(call, USAGE_PAGES[path]),
});

/** `GET /w/{ws}/audit`: the first page below Audit that the visitor can open. */
const showAudit = (call: PageCall): Response =>
  redirectTo(`${call.place.base}/audit/${call.workspace.role === "admin" ? "events" : "requests"}`);

/** Every page of a workspace, in the groups and the order of the navigation. */
export const WORKSPACE_PAGES: readonly (readonly WorkspacePage[])[] = [
  [
    { path: "/now", name: "Now", get: showNow },
    usagePage("/", "Overview"),
    usagePage("/explore", "Explore"),
    { path: "/sessions", name: "Sessions", get: showSessions },
    { path: "/sessions/:id", get: showSession },
    { path: "/requests", name: "Requests", get: showRequests },
    // The answer to its form shows a stored prompt.
    { path: "/requests/:id", showsSecret: true, get: showRequest, post: readRequestBody },
    { path: "/views", get: showSavedViews, post: changeSavedViews },
  ],
  [
    usagePage("/projects", "Projects"),
    usagePage("/models", "Models"),
    { path: "/machines", name: "Machines", get: showMachines, post: changeMachines },
    { path: "/people", name: "People", get: showPeople },
    { path: "/statement", name: "Statement", get: showWorkspaceStatement },
    { path: "/statement/:month", get: showWorkspaceStatement },
  ],
  [
    { path: "/limits", name: "Limits", get: showLimits },
    { path: "/budgets", name: "Budgets", get: showBudgets, post: changeBudgets },
    usagePage("/savings", "Savings"),
    { path: "/coverage", name: "Coverage", get: showCoverage },
  ],
  [
    { path: "/settings", name: "Settings", get: showSettings, post: changeSettings },
    // The answer to a new key shows its token, and that to an invitation its link.
    { path: "/keys", name: "Keys", showsSecret: true, get: showKeys, post: changeKeys },
    { path: "/members", name: "Members", showsSecret: true, get: showMembers, post: changeMembers },
    { path: "/privacy", name: "Privacy", get: showPrivacy, post: erasePromptsOnPage },
    { path: "/privacy/erasures/:id", get: downloadCertificate },
    { path: "/audit", name: "Audit", access: AUDIT_ACCESS["/audit"], get: showAudit },
    { path: "/audit/events", access: AUDIT_ACCESS["/audit/events"], get: showAuditEvents },
    { path: "/audit/prompt-views", access: AUDIT_ACCESS["/audit/prompt-views"], get: showPromptViews },
    { path: "/audit/requests", access: AUDIT_ACCESS["/audit/requests"], get: showAuditRequests },
    { path: "/audit/verification", access: AUDIT_ACCESS["/audit/verification"], get: showVerification },
  ],
];
