import type * as v from "valibot";
import type { PlanFeature } from "../../core/privacy/plans/plan-table.ts";
import {
  auditEventsSchema,
  ledgerVerificationSchema,
  promptViewRequestSchema,
  promptViewResponseSchema,
  promptViewsSchema,
} from "../../core/wire/audit.ts";
import {
  BODY_REQUEST_MAX_BYTES,
  bodyEnvelopeSchema,
  bodyUploadResponseSchema,
} from "../../core/wire/body-envelope.ts";
import {
  checkoutConsentResponseSchema,
  checkoutConsentSchema,
  checkoutWordingSchema,
} from "../../core/wire/consent.ts";
import {
  coverageSchema,
  coverageUploadResponseSchema,
  coverageUploadSchema,
} from "../../core/wire/coverage.ts";
import { whoamiSchema } from "../../core/wire/daemon.ts";
import { daemonTotalsSchema } from "../../core/wire/daemon-totals.ts";
import {
  fleetBudgetCreatedSchema,
  fleetBudgetsSchema,
  fleetBudgetTermsSchema,
  liftFleetBudgetSchema,
  machineBudgetsSchema,
  newFleetBudgetSchema,
} from "../../core/wire/fleet-budgets.ts";
import { ledgerHeadsQuerySchema, ledgerHeadsSchema } from "../../core/wire/ledger-heads.ts";
import {
  limitsSchema,
  limitsUploadResponseSchema,
  limitsUploadSchema,
} from "../../core/wire/limit-readings.ts";
import { BATCH_MAX_BYTES, batchRequestSchema, batchResponseSchema } from "../../core/wire/metadata-batch.ts";
import {
  comparisonQuerySchema,
  listedModelsSchema,
  modelComparisonSchema,
  modelsQuerySchema,
} from "../../core/wire/model-comparison.ts";
import { workspaceNowSchema } from "../../core/wire/now.ts";
import {
  pairingDecisionSchema,
  pairingPollRequestSchema,
  pairingPollResponseSchema,
  pairingStartRequestSchema,
  pairingStartResponseSchema,
} from "../../core/wire/pairing.ts";
import {
  invitationAcceptSchema,
  invitationCreatedSchema,
  invitationsSchema,
  keyCreatedSchema,
  keysSchema,
  machinePatchSchema,
  machinesSchema,
  memberPatchSchema,
  membersSchema,
  meSchema,
  newInvitationSchema,
  newOrganisationSchema,
  newWorkspaceSchema,
  organisationCreatedSchema,
  organisationMemberPatchSchema,
  organisationMembersSchema,
  organisationsSchema,
  pairingCodeViewSchema,
  workspaceSummarySchema,
  workspacesSchema,
} from "../../core/wire/people.ts";
import { publishedRatesSchema } from "../../core/wire/pricing-rates.ts";
import { workspacePrivacySchema } from "../../core/wire/privacy.ts";
import {
  analyticsQuerySchema,
  auditEventsQuerySchema,
  coverageQuerySchema,
  daemonTotalsQuerySchema,
  periodQuerySchema,
  promptViewsQuerySchema,
  sessionsQuerySchema,
  traceBodyQuerySchema,
  tracesQuerySchema,
} from "../../core/wire/queries.ts";
import { analyticsSchema, optimisationSchema, overviewSchema } from "../../core/wire/reports.ts";
import {
  newSavedViewSchema,
  savedViewCreatedSchema,
  savedViewPatchSchema,
  savedViewsSchema,
} from "../../core/wire/saved-views.ts";
import { savingsAnswerSchema } from "../../core/wire/savings.ts";
import { sessionDetailSchema, sessionsSchema } from "../../core/wire/sessions.ts";
import {
  advancedSettingsPatchSchema,
  advancedSettingsSchema,
  deletionResponseSchema,
  settingsPatchSchema,
  settingsSchema,
} from "../../core/wire/settings.ts";
import { traceBodySchema, traceSchema, tracesSchema } from "../../core/wire/traces.ts";
import {
  usageAnswerSchema,
  usageForecastSchema,
  usageQuerySchema,
  usageValuesQuerySchema,
  usageValuesSchema,
} from "../../core/wire/usage.ts";
import { weeklySummarySchema } from "../../core/wire/weekly-summary.ts";

/**
 * Who can call a route: anyone; a machine, with a sync or admin key; a person, by session or by an admin key bound to them;
 * or a person by session only. Decision: an admin key can change a workspace's settings, members and machines and revoke
 * keys, as its owner can, but cannot create keys. Anything personal (account, organisations, approving a machine, deleting a
 * workspace) requires a session.
 */
export type ApiCaller = "anyone" | "key" | "person" | "session";

/** One route of the API: who can call it, what it takes and what it answers. */
export interface ApiRoute {
  readonly summary: string;
  readonly caller: ApiCaller;
  /** False if a key can call it even if its workspace was deleted, its machine is blocked or its owner was removed. Default: true. */
  readonly inService?: boolean;
  /** The limit that counts its calls by address. Routes that need a token are limited by key or person instead. */
  readonly addressLimit?: "pairingPerAddress" | "pollPerAddress";
  /**
   * For a route below `:ws`: the role that the caller must have there (default: member; an owner is one of the organisation)
   * and the feature that the workspace's plan must include. Decision: members can read their workspace's metadata, including
   * the audit log's requests. Only admins can read the ledger and the audit events, which contain other people's reasons and
   * addresses.
   */
  readonly workspace?: { readonly role?: "admin" | "owner"; readonly feature?: PlanFeature };
  /** For a route below `:org`: the roles that may call it. */
  readonly organisation?: { readonly roles: readonly ("owner" | "admin" | "member")[] };
  readonly query?: v.GenericSchema;
  readonly body?: v.GenericSchema;
  /** Most bytes of the body. Default: 16 KiB. */
  readonly maxBodyBytes?: number;
  /** Who parses query and body: before the handler, unless the handler has to decide something before it parses them. */
  readonly inputReadBy?: "handler";
  /** The successful answers, by status; null for an answer without a body. */
  readonly answers: Readonly<Record<number, v.GenericSchema | null>>;
  /** The statuses of its own problems (RFC 9457), besides those that `refusalStatuses` derives from the other fields. */
  readonly refusals?: readonly number[];
}

/** Every route of the API, by method and path. */
export const API_ROUTES = {
  "POST /v1/requests/batch": {
    summary: "Upload up to 500 metadata records; returns one outcome per record, after the commit",
    caller: "key",
    maxBodyBytes: BATCH_MAX_BYTES,
    body: batchRequestSchema,
    answers: { 200: batchResponseSchema },
  },
  "POST /v1/requests/:id/body": {
    summary:
      "Upload one side of a request's body, from the machine and person that sent the request; stored only if the workspace stores bodies",
    caller: "key",
    // With the gate off, the envelope is not parsed.
    inputReadBy: "handler",
    maxBodyBytes: BODY_REQUEST_MAX_BYTES,
    body: bodyEnvelopeSchema,
    answers: { 200: bodyUploadResponseSchema, 204: null },
    refusals: [404, 409, 425],
  },
  "GET /v1/daemon/whoami": {
    summary: "Show the key's workspace, machine and person",
    caller: "key",
    answers: { 200: whoamiSchema },
  },
  "GET /v1/daemon/ledger-heads": {
    summary: "Show the heads of the workspace's ledgers, and the hashes of the rows at the given places",
    caller: "key",
    query: ledgerHeadsQuerySchema,
    answers: { 200: ledgerHeadsSchema },
  },
  "POST /v1/daemon/limits": {
    summary: "Upload the latest readings of the limits that responses stated to the key's machine",
    caller: "key",
    maxBodyBytes: 512 * 1024,
    body: limitsUploadSchema,
    answers: { 200: limitsUploadResponseSchema },
  },
  "POST /v1/daemon/coverage": {
    summary:
      "Upload how many calls the key's machine metered and missed in each hour, and when its daemon ran",
    caller: "key",
    maxBodyBytes: 2 * 1024 * 1024,
    body: coverageUploadSchema,
    answers: { 200: coverageUploadResponseSchema },
  },
  "GET /v1/daemon/budgets": {
    summary:
      "List the budgets that bind the key's machine, with what it and all others used in their periods",
    caller: "key",
    answers: { 200: machineBudgetsSchema },
  },
  "DELETE /v1/daemon/key": {
    summary: "Revoke the calling key",
    caller: "key",
    // A key can always revoke itself.
    inService: false,
    answers: { 204: null },
  },
  "GET /v1/pricing/rates": {
    summary: "List the published rates; supports ETag",
    caller: "key",
    answers: { 200: publishedRatesSchema, 304: null },
  },
  "GET /v1/reconciliation/daemon-totals": {
    summary: "Show the daily totals of the key's machine; both dates are included",
    caller: "key",
    query: daemonTotalsQuerySchema,
    answers: { 200: daemonTotalsSchema },
  },
  "POST /v1/pairing/start": {
    summary: "Start a pairing; returns a code for the person and a token to poll with",
    caller: "anyone",
    addressLimit: "pairingPerAddress",
    body: pairingStartRequestSchema,
    answers: { 201: pairingStartResponseSchema },
  },
  "POST /v1/pairing/poll": {
    summary: "Wait up to 25 seconds for the decision; an approval returns the sync token, once",
    caller: "anyone",
    addressLimit: "pollPerAddress",
    body: pairingPollRequestSchema,
    answers: { 200: pairingPollResponseSchema },
  },
  "GET /v1/workspaces/:ws/overview": {
    summary: "Show the totals of a period, and its days, projects and models",
    caller: "person",
    workspace: {},
    query: periodQuerySchema,
    answers: { 200: overviewSchema },
  },
  "GET /v1/workspaces/:ws/limits": {
    summary: "List the latest reading of each limit's window, by machine",
    caller: "person",
    workspace: {},
    answers: { 200: limitsSchema },
  },
  "GET /v1/workspaces/:ws/privacy": {
    summary:
      "Show how many requests and prompts are stored by person, and the erasures with their certificates; a member's own, or all for administrators",
    caller: "person",
    workspace: {},
    answers: { 200: workspacePrivacySchema },
  },
  "GET /v1/workspaces/:ws/now": {
    summary:
      "Show the sums of today and of the last hour by minute, with today's coverage; takes the filters of usage; supports ETag",
    caller: "person",
    workspace: {},
    answers: { 200: workspaceNowSchema, 304: null },
  },
  "GET /v1/workspaces/:ws/coverage": {
    summary:
      "Show how many calls were metered and missed in a period, and when daemons did not run, by machine and time",
    caller: "person",
    workspace: {},
    query: coverageQuerySchema,
    answers: { 200: coverageSchema },
  },
  "GET /v1/workspaces/:ws/analytics": {
    summary: "Sum usage by project, model, provider, machine or user, per hour or day",
    caller: "person",
    workspace: {},
    query: analyticsQuerySchema,
    answers: { 200: analyticsSchema },
    refusals: [400],
  },
  "GET /v1/workspaces/:ws/usage": {
    summary: "Answer a usage query: sums by up to two dimensions and by time, with the period before",
    caller: "person",
    workspace: {},
    // Filters can repeat. Unknown parameters are refused.
    inputReadBy: "handler",
    query: usageQuerySchema,
    answers: { 200: usageAnswerSchema },
  },
  "GET /v1/workspaces/:ws/usage/values": {
    summary: "List the values of a dimension in a period, most requests first",
    caller: "person",
    workspace: {},
    inputReadBy: "handler",
    query: usageValuesQuerySchema,
    answers: { 200: usageValuesSchema },
  },
  "GET /v1/workspaces/:ws/usage/models": {
    summary:
      "List the models of a period: those that were used, those of them without a price, or others with a price (`models`), with a part of their name (`q`); takes the period, the zone and the filters of usage",
    caller: "person",
    workspace: {},
    inputReadBy: "handler",
    query: modelsQuerySchema,
    answers: { 200: listedModelsSchema },
  },
  "GET /v1/workspaces/:ws/usage/comparison": {
    summary:
      "Estimate what the models of a period would have cost at the prices of another one (`as`); takes the period, the zone and the filters of usage",
    caller: "person",
    workspace: {},
    inputReadBy: "handler",
    query: comparisonQuerySchema,
    answers: { 200: modelComparisonSchema },
  },
  "GET /v1/workspaces/:ws/usage/forecast": {
    summary: "Estimate this month",
    caller: "person",
    workspace: {},
    inputReadBy: "handler",
    query: usageQuerySchema,
    answers: { 200: usageForecastSchema },
  },
  "GET /v1/workspaces/:ws/savings": {
    summary: "Show what could cost less, and what prompt caches saved",
    caller: "person",
    workspace: {},
    inputReadBy: "handler",
    query: usageQuerySchema,
    answers: { 200: savingsAnswerSchema },
  },
  "GET /v1/workspaces/:ws/optimisation": {
    summary: "Show where money could have been saved",
    caller: "person",
    workspace: {},
    query: periodQuerySchema,
    answers: { 200: optimisationSchema },
  },
  "GET /v1/workspaces/:ws/traces": {
    summary: "List requests, newest first",
    caller: "person",
    workspace: {},
    query: tracesQuerySchema,
    answers: { 200: tracesSchema },
    refusals: [400],
  },
  "GET /v1/workspaces/:ws/traces/:request_id": {
    summary: "Show everything stored about a request except its bodies",
    caller: "person",
    workspace: {},
    answers: { 200: traceSchema },
  },
  "GET /v1/workspaces/:ws/sessions": {
    summary: "List sessions with a request in the period, by default the one with the latest request first",
    caller: "person",
    workspace: {},
    query: sessionsQuerySchema,
    answers: { 200: sessionsSchema },
    refusals: [400],
  },
  "GET /v1/workspaces/:ws/sessions/:session_id": {
    summary: "Show a session with its requests, the oldest first",
    caller: "person",
    workspace: {},
    answers: { 200: sessionDetailSchema },
  },
  "GET /v1/traces/:request_id/body": {
    summary:
      "Read a stored body: its author, or an administrator with a reason, whose view is recorded in the ledger",
    caller: "person",
    // A caller who may not read the body gets the same answer whatever the query.
    inputReadBy: "handler",
    query: traceBodyQuerySchema,
    answers: { 200: traceBodySchema },
    refusals: [404, 409],
  },
  "GET /v1/workspaces/:ws/audit/requests": {
    summary: "List the metadata of older requests (Business and above)",
    caller: "person",
    workspace: { feature: "auditSurface" },
    query: tracesQuerySchema,
    answers: { 200: tracesSchema },
    refusals: [400],
  },
  "GET /v1/workspaces/:ws/audit/events": {
    summary: "List changes to settings, people, machines and the plan (Business and above)",
    caller: "person",
    workspace: { role: "admin", feature: "auditSurface" },
    query: auditEventsQuerySchema,
    answers: { 200: auditEventsSchema },
    refusals: [400],
  },
  "GET /v1/workspaces/:ws/audit/prompt-views": {
    summary: "List who read whose stored bodies, and why (Business and above)",
    caller: "person",
    workspace: { role: "admin", feature: "readPromptViews" },
    query: promptViewsQuerySchema,
    answers: { 200: promptViewsSchema },
    refusals: [400],
  },
  "GET /v1/workspaces/:ws/audit/verification": {
    summary:
      "Verify the hash chains of prompt views, audit events and costs, and compare requests and totals with them (Business and above)",
    caller: "person",
    workspace: { role: "admin", feature: "auditSurface" },
    answers: { 200: ledgerVerificationSchema },
  },
  "POST /v1/audit/prompt-views": {
    summary: "Record a view in the ledger before the body is read (Team and above)",
    caller: "person",
    // Room for a reason of 2000 characters, each written as two JSON escapes of six bytes, and for the other fields.
    maxBodyBytes: 65_536,
    body: promptViewRequestSchema,
    answers: { 201: promptViewResponseSchema },
    refusals: [404],
  },
  "GET /v1/consent/checkout": {
    summary: "Show the wording beside the two checkboxes, and its hash",
    caller: "anyone",
    answers: { 200: checkoutWordingSchema },
  },
  "POST /v1/consent/checkout": {
    summary: "Record a person's consent before checkout",
    caller: "session",
    body: checkoutConsentSchema,
    answers: { 201: checkoutConsentResponseSchema },
  },
  "GET /v1/me": {
    summary: "Show the caller and the workspaces they can access",
    caller: "person",
    answers: { 200: meSchema },
  },
  "DELETE /v1/account": {
    summary: "Delete the caller's account; it is erased about 30 days later",
    caller: "session",
    answers: { 200: deletionResponseSchema },
    refusals: [409],
  },
  "GET /v1/workspaces": {
    summary: "List the workspaces that the caller can access",
    caller: "person",
    answers: { 200: workspacesSchema },
  },
  "POST /v1/workspaces": {
    summary: "Create a workspace in one of the caller's organisations",
    caller: "session",
    body: newWorkspaceSchema,
    answers: { 201: workspaceSummarySchema },
    refusals: [404, 409],
  },
  "DELETE /v1/workspaces/:ws": {
    summary: "Delete a workspace (owners); it stops serving at once and is erased about 30 days later",
    caller: "session",
    workspace: { role: "owner" },
    answers: { 200: deletionResponseSchema },
  },
  "GET /v1/organisations": {
    summary: "List the caller's organisations",
    caller: "session",
    answers: { 200: organisationsSchema },
  },
  "POST /v1/organisations": {
    summary: "Create an organisation and its first workspace",
    caller: "session",
    body: newOrganisationSchema,
    answers: { 201: organisationCreatedSchema },
    refusals: [409],
  },
  "GET /v1/organisations/:org/members": {
    summary: "List the members of an organisation (owners and administrators)",
    caller: "session",
    organisation: { roles: ["owner", "admin"] },
    answers: { 200: organisationMembersSchema },
  },
  "PATCH /v1/organisations/:org/members/:user": {
    summary: "Change a member's role in an organisation (owners)",
    caller: "session",
    organisation: { roles: ["owner"] },
    body: organisationMemberPatchSchema,
    answers: { 204: null },
    refusals: [409],
  },
  "DELETE /v1/organisations/:org/members/:user": {
    summary: "Remove a member from an organisation (owners)",
    caller: "session",
    organisation: { roles: ["owner"] },
    answers: { 204: null },
    refusals: [409],
  },
  "GET /v1/workspaces/:ws/settings": {
    summary: "Show whether the workspace stores bodies, and the zone of its days",
    caller: "person",
    workspace: {},
    answers: { 200: settingsSchema },
  },
  "PATCH /v1/workspaces/:ws/settings": {
    summary: "Change whether the workspace stores bodies, and the zone of its days (administrators)",
    caller: "person",
    workspace: { role: "admin" },
    body: settingsPatchSchema,
    answers: { 200: settingsSchema },
  },
  "GET /v1/workspaces/:ws/settings/advanced": {
    summary: "Show how far back queries can go (Business and above)",
    caller: "person",
    workspace: { feature: "advancedSettings" },
    answers: { 200: advancedSettingsSchema },
  },
  "PATCH /v1/workspaces/:ws/settings/advanced": {
    summary: "Change how far back queries can go (Business and above, administrators)",
    caller: "person",
    workspace: { role: "admin", feature: "advancedSettings" },
    body: advancedSettingsPatchSchema,
    answers: { 200: advancedSettingsSchema },
  },
  "GET /v1/workspaces/:ws/members": {
    summary: "List the members of a workspace",
    caller: "person",
    workspace: {},
    answers: { 200: membersSchema },
  },
  "PATCH /v1/workspaces/:ws/members/:user": {
    summary: "Change a member's role in a workspace (administrators)",
    caller: "person",
    workspace: { role: "admin" },
    body: memberPatchSchema,
    answers: { 204: null },
  },
  "DELETE /v1/workspaces/:ws/members/:user": {
    summary: "Remove a member from a workspace (administrators, or the member)",
    caller: "person",
    workspace: {},
    answers: { 204: null },
  },
  "GET /v1/workspaces/:ws/invitations": {
    summary: "List pending invitations (administrators)",
    caller: "person",
    workspace: { role: "admin" },
    answers: { 200: invitationsSchema },
  },
  "POST /v1/workspaces/:ws/invitations": {
    summary: "Invite a person by email (administrators)",
    caller: "person",
    workspace: { role: "admin" },
    body: newInvitationSchema,
    answers: { 201: invitationCreatedSchema },
    refusals: [409],
  },
  "DELETE /v1/workspaces/:ws/invitations/:id": {
    summary: "Revoke an invitation (administrators)",
    caller: "person",
    workspace: { role: "admin" },
    answers: { 204: null },
  },
  "POST /v1/workspaces/:ws/invitations/:id/resend": {
    summary:
      "Send a pending invitation again with a new link, which replaces the earlier one (administrators)",
    caller: "person",
    workspace: { role: "admin" },
    answers: { 200: invitationCreatedSchema },
  },
  "POST /v1/invitations/accept": {
    summary: "Accept an invitation",
    caller: "session",
    body: invitationAcceptSchema,
    answers: { 200: workspaceSummarySchema },
    refusals: [404],
  },
  "GET /v1/workspaces/:ws/machines": {
    summary: "List the machines of a workspace",
    caller: "person",
    workspace: {},
    answers: { 200: machinesSchema },
  },
  "PATCH /v1/workspaces/:ws/machines/:id": {
    summary:
      "Name a machine, or change who its future requests and prompts belong to (administrators); the latter only for the caller's own machines and those of people who left",
    caller: "person",
    workspace: { role: "admin" },
    body: machinePatchSchema,
    answers: { 204: null },
    refusals: [409],
  },
  "POST /v1/workspaces/:ws/machines/:id/block": {
    summary: "Block a machine (administrators); its uploads are answered with 403",
    caller: "person",
    workspace: { role: "admin" },
    answers: { 204: null },
  },
  "POST /v1/workspaces/:ws/machines/:id/invite": {
    summary: "Unblock a machine (administrators)",
    caller: "person",
    workspace: { role: "admin" },
    answers: { 204: null },
  },
  "GET /v1/workspaces/:ws/budgets": {
    summary: "List the budgets that bind the caller, with their sums; administrators see all",
    caller: "person",
    workspace: {},
    answers: { 200: fleetBudgetsSchema },
  },
  "POST /v1/workspaces/:ws/budgets": {
    summary:
      "Set a budget for the workspace, a project, a person or a machine (administrators; Team and above)",
    caller: "person",
    workspace: { role: "admin", feature: "fleetBudgets" },
    body: newFleetBudgetSchema,
    answers: { 201: fleetBudgetCreatedSchema },
    refusals: [409],
  },
  "PATCH /v1/workspaces/:ws/budgets/:id": {
    summary:
      "Replace the terms of a budget (administrators; Team and above); omitted ones take their defaults",
    caller: "person",
    workspace: { role: "admin", feature: "fleetBudgets" },
    body: fleetBudgetTermsSchema,
    answers: { 204: null },
  },
  "POST /v1/workspaces/:ws/budgets/:id/pause": {
    summary: "Pause a budget (administrators): it counts, and neither warns nor blocks",
    caller: "person",
    workspace: { role: "admin" },
    answers: { 204: null },
  },
  "POST /v1/workspaces/:ws/budgets/:id/resume": {
    summary: "End the pause or the lift of a budget (administrators)",
    caller: "person",
    workspace: { role: "admin" },
    answers: { 204: null },
  },
  "POST /v1/workspaces/:ws/budgets/:id/lift": {
    summary: "Let calls pass a budget for a while (administrators)",
    caller: "person",
    workspace: { role: "admin" },
    body: liftFleetBudgetSchema,
    answers: { 204: null },
  },
  "DELETE /v1/workspaces/:ws/budgets/:id": {
    summary: "Remove a budget (administrators)",
    caller: "person",
    workspace: { role: "admin" },
    answers: { 204: null },
  },
  "GET /v1/workspaces/:ws/weekly-summary": {
    summary: "Show whether the caller gets the weekly email about the workspace",
    caller: "session",
    workspace: {},
    answers: { 200: weeklySummarySchema },
  },
  "PATCH /v1/workspaces/:ws/weekly-summary": {
    summary: "Start or end the caller's weekly email about the workspace",
    caller: "session",
    workspace: {},
    body: weeklySummarySchema,
    answers: { 204: null },
  },
  "GET /v1/workspaces/:ws/views": {
    summary: "List the caller's saved views and the shared ones",
    caller: "person",
    workspace: {},
    answers: { 200: savedViewsSchema },
  },
  "POST /v1/workspaces/:ws/views": {
    summary: "Save the state of a page under a name, for the caller or for the workspace",
    caller: "person",
    workspace: {},
    body: newSavedViewSchema,
    answers: { 201: savedViewCreatedSchema },
    refusals: [409],
  },
  "PATCH /v1/workspaces/:ws/views/:id": {
    summary: "Rename, share or unshare a saved view. Administrators can change shared views of others",
    caller: "person",
    workspace: {},
    body: savedViewPatchSchema,
    answers: { 204: null },
    refusals: [409],
  },
  "DELETE /v1/workspaces/:ws/views/:id": {
    summary: "Delete a saved view. Administrators can delete shared views of others",
    caller: "person",
    workspace: {},
    answers: { 204: null },
  },
  "GET /v1/workspaces/:ws/keys": {
    summary: "List the keys of a workspace, without their secrets",
    caller: "person",
    workspace: {},
    answers: { 200: keysSchema },
  },
  "POST /v1/workspaces/:ws/keys": {
    summary: "Create an admin key bound to the caller (administrators); its token is shown once",
    caller: "session",
    workspace: { role: "admin" },
    answers: { 201: keyCreatedSchema },
  },
  "DELETE /v1/workspaces/:ws/keys/:id": {
    summary: "Revoke a key",
    caller: "person",
    workspace: {},
    answers: { 204: null },
  },
  "GET /v1/pairing/codes/:code": {
    summary: "Show the machine that is waiting for a code",
    caller: "session",
    answers: { 200: pairingCodeViewSchema },
    refusals: [404],
  },
  "POST /v1/pairing/approve": {
    summary: "Approve the machine that is waiting for a code, for the workspace and the member who uses it",
    caller: "session",
    body: pairingDecisionSchema,
    answers: { 204: null },
    refusals: [404],
  },
  "POST /v1/pairing/deny": {
    summary: "Deny the machine that is waiting for a code",
    caller: "session",
    body: pairingDecisionSchema,
    answers: { 204: null },
    refusals: [404],
  },
} as const satisfies Readonly<Record<string, ApiRoute>>;

/** A route's name: method and path. */
export type ApiRouteName = keyof typeof API_ROUTES;

/** The parameter names of a path: `ws` and `request_id` for `/v1/workspaces/:ws/traces/:request_id`. */
export type PathNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** Splits a route's name into its method and its path. */
export function splitRouteName(name: string): { readonly method: string; readonly path: string } {
  const [method = "", path = ""] = name.split(" ");
  return { method, path };
}

/** Returns the statuses of a route's problems, in ascending order. Its access and its input imply most of them. */
export function refusalStatuses(route: ApiRoute): readonly number[] {
  const { caller, workspace, organisation, query, body, refusals = [] } = route;
  const statuses = new Set([
    ...refusals,
    // A request has no token, or one that cannot be used here.
    ...(caller === "anyone" ? [] : [401, 403]),
    ...(workspace === undefined && organisation === undefined ? [] : [404]),
    ...(query === undefined ? [] : [422]),
    ...(body === undefined ? [] : [400, 413, 422]),
    // Any route: too many requests, an internal error, an unavailable database.
    ...[429, 500, 503],
  ]);
  return [...statuses].toSorted((a, b) => a - b);
}
