/**
 * Every payload of the contract, once: valibot schemas, the types they give, and the checks that a schema can't say
 * (strict Base64, strict UTF-8, nesting, cursors). Both sides import them. What is absent in an older sender's payload
 * is `null`; what a newer one adds is dropped.
 *
 * ```ts
 * import { parseMetadataRecord, parseWire, whoamiSchema } from "./mod.ts";
 *
 * const parsed = parseMetadataRecord({
 *   request_id: "01994b8e-7c00-7000-8000-000000000000",
 *   requested_at: "2026-11-21T10:00:00.000Z",
 *   provider: "openai",
 *   model: "gpt-5",
 * });
 * console.log(parsed.ok && parsed.value.error_class); // null
 * console.log(parseWire(whoamiSchema, {}).ok); // false
 * ```
 *
 * @module
 */
export {
  type AuditEvents,
  auditEventsSchema,
  PROMPT_VIEW_REASON_MAX,
  type PromptViewAnswer,
  type PromptViewRequest,
  type PromptViews,
  promptViewAnswerSchema,
  promptViewReasonSchema,
  promptViewRequestSchema,
  promptViewSchema,
  promptViewsSchema,
} from "./audit.ts";
export { decodeBase64, decodeBase64Url, encodeBase64, encodeBase64Url } from "./base64.ts";
export {
  BODY_NOT_STORED,
  BODY_REQUEST_MAX_BYTES,
  type BodyAnswerBody,
  type BodyEnvelopeV021,
  bodyAnswerSchema,
  bodyEnvelopeSchema,
  type LegRedaction,
  mergeRedaction,
  type OpenedBody,
  openBody,
} from "./body-envelope.ts";
export { countCharacters, cutCharacters, isStorableText, toStorableText } from "./characters.ts";
export {
  BILLING_PERIODS,
  type BillingPeriod,
  type CheckoutConsent,
  type CheckoutConsentAnswer,
  type CheckoutWording,
  checkoutConsentAnswerSchema,
  checkoutConsentSchema,
  checkoutWordingSchema,
} from "./consent.ts";
export { type CursorBinding, type CursorPosition, decodeCursor, encodeCursor } from "./cursor.ts";
export { type Whoami, whoamiSchema } from "./daemon.ts";
export { type DaemonTotals, daemonTotalsSchema } from "./daemon-totals.ts";
export { MAX_COST_DIGITS } from "./fields.ts";
export {
  formatCalendarDate,
  formatInstant,
  MAX_INSTANT,
  MIN_INSTANT,
  nextMidnight,
  parseCalendarDate,
  parseInstant,
} from "./instant.ts";
export {
  type CloudState,
  type ConnectAnswer,
  type ConnectStatus,
  cloudStateSchema,
  connectAnswerSchema,
  connectRequestSchema,
  connectStatusSchema,
  type Health,
  healthSchema,
  type Status,
  statusSchema,
} from "./loopback.ts";
export {
  projectListSchema,
  type RequestItem,
  requestExplanationSchema,
  requestItemSchema,
  requestListSchema,
  type StatisticsTotals,
  statisticsSchema,
  statisticsTotalsSchema,
} from "./loopback-data.ts";
export {
  BATCH_MAX_BYTES,
  type BatchAnswerBody,
  type BatchRequest,
  batchAnswerSchema,
  batchRequestSchema,
} from "./metadata-batch.ts";
export {
  ERROR_CLASSES,
  MAX_USAGE_EXTRAS,
  type MetadataRecord,
  metadataRecordSchema,
  parseMetadataRecord,
  RECORD_TEXT_LIMITS,
} from "./metadata-record.ts";
export {
  formatPairingCode,
  normalisePairingCode,
  type PairingDecision,
  type PairingPoll,
  type PairingResult,
  type PairingStart,
  type PairingTicketBody,
  pairingDecisionSchema,
  pairingPollSchema,
  pairingResultSchema,
  pairingStartSchema,
  pairingTicketSchema,
} from "./pairing.ts";
export { MAX_WIRE_PROBLEMS, type Parsed, parseWire, type WireProblem, type WireSchema } from "./parse.ts";
export {
  emailAddress,
  type InvitationCreated,
  type Invitations,
  invitationAcceptSchema,
  invitationCreatedSchema,
  invitationsSchema,
  type KeyCreated,
  type Keys,
  keyCreatedSchema,
  keysSchema,
  type Machines,
  type Me,
  type Members,
  machinesSchema,
  memberPatchSchema,
  membersSchema,
  meSchema,
  newInvitationSchema,
  newOrganisationSchema,
  newWorkspaceSchema,
  ORGANISATION_ROLES,
  type OrganisationCreated,
  type OrganisationMembers,
  type OrganisationSummary,
  organisationCreatedSchema,
  organisationMemberPatchSchema,
  organisationMembersSchema,
  organisationSummarySchema,
  organisationsSchema,
  type PairingShown,
  pairingShownSchema,
  WORKSPACE_ROLES,
  type WorkspaceSummary,
  workspaceSummarySchema,
  workspacesSchema,
} from "./people.ts";
export { type PublishedRates, publishedRatesSchema } from "./pricing-rates.ts";
export { PROBLEM_MEDIA_TYPE, type Problem, problemSchema } from "./problem-details.ts";
export {
  type AnalyticsQuery,
  analyticsQuerySchema,
  auditEventsQuerySchema,
  daemonTotalsQuerySchema,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  type PromptViewsQuery,
  periodQuerySchema,
  promptViewsQuerySchema,
  type TraceBodyQuery,
  type TracesQuery,
  traceBodyQuerySchema,
  tracesQuerySchema,
} from "./queries.ts";
export { isWithinDepth, type JsonReading, MAX_JSON_DEPTH, readJson } from "./read-json.ts";
export {
  type Analytics,
  analyticsSchema,
  type Optimisation,
  type Overview,
  optimisationSchema,
  overviewSchema,
} from "./reports.ts";
export {
  type AdvancedSettings,
  type AdvancedSettingsPatch,
  AUDIT_LOG_RETENTION_DAYS_DEFAULT,
  advancedSettingsPatchSchema,
  advancedSettingsSchema,
  DATA_RETENTION_DAYS_DEFAULT,
  type DeletionAnswer,
  deletionAnswerSchema,
  RETENTION_DAYS_MAX,
  type Settings,
  type SettingsPatch,
  settingsPatchSchema,
  settingsSchema,
} from "./settings.ts";
export {
  type Trace,
  type TraceBody,
  type TraceSummary,
  type Traces,
  traceBodySchema,
  traceSchema,
  traceSummarySchema,
  tracesSchema,
} from "./traces.ts";
export { deliveredTotalsSchema, type UsageTotals, usageTotalsSchema } from "./usage-totals.ts";
export { decodeStrictUtf8, isUtf8 } from "./utf8.ts";
