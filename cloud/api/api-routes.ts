import type * as v from "valibot";
import {
  analyticsQuerySchema,
  analyticsSchema,
  auditEventsQuerySchema,
  auditEventsSchema,
  batchAnswerSchema,
  batchRequestSchema,
  bodyAnswerSchema,
  bodyEnvelopeSchema,
  checkoutConsentAnswerSchema,
  checkoutConsentSchema,
  checkoutWordingSchema,
  daemonTotalsQuerySchema,
  daemonTotalsSchema,
  optimisationSchema,
  overviewSchema,
  pairingPollSchema,
  pairingResultSchema,
  pairingStartSchema,
  pairingTicketSchema,
  periodQuerySchema,
  promptViewAnswerSchema,
  promptViewRequestSchema,
  promptViewsQuerySchema,
  promptViewsSchema,
  publishedRatesSchema,
  traceBodySchema,
  traceSchema,
  tracesQuerySchema,
  tracesSchema,
  whoamiSchema,
} from "../../core/wire/mod.ts";

/** Who may call: nobody in particular, a sync or admin key, a person (a session, or an admin key bound to them). */
export type ApiCaller = "anyone" | "key" | "person";

/** One route of the API, in the schemas that both sides of the wire share. */
export interface ApiRoute {
  readonly summary: string;
  readonly caller: ApiCaller;
  readonly query?: v.GenericSchema;
  readonly body?: v.GenericSchema;
  /** The answers that are no refusals, by status; null where there is no body. */
  readonly answers: Readonly<Record<number, v.GenericSchema | null>>;
  /** The statuses of its refusals besides 401, 429, 500 and 503, each a problem (RFC 9457). */
  readonly refusals: readonly number[];
}

/** Every route below `/v1`, by method and path. What is not in here is not part of the API. */
export const API_ROUTES = {
  "POST /v1/requests/batch": {
    summary: "Takes up to 500 metadata records: one outcome for each, after the commit",
    caller: "key",
    body: batchRequestSchema,
    answers: { 200: batchAnswerSchema },
    refusals: [400, 403, 413, 422],
  },
  "POST /v1/requests/:id/body": {
    summary: "Takes one leg of a request's body, where the workspace stores bodies",
    caller: "key",
    body: bodyEnvelopeSchema,
    answers: { 200: bodyAnswerSchema, 204: null },
    refusals: [400, 403, 404, 413, 422, 425],
  },
  "GET /v1/daemon/whoami": {
    summary: "Whom the key stands for",
    caller: "key",
    answers: { 200: whoamiSchema },
    refusals: [403],
  },
  "DELETE /v1/daemon/key": {
    summary: "The key revokes itself",
    caller: "key",
    answers: { 204: null },
    refusals: [403],
  },
  "GET /v1/pricing/rates": {
    summary: "The published rates; with an ETag",
    caller: "key",
    answers: { 200: publishedRatesSchema, 304: null },
    refusals: [403],
  },
  "GET /v1/reconciliation/daemon-totals": {
    summary: "What the cloud has of the key's machine, day by day; both dates included",
    caller: "key",
    query: daemonTotalsQuerySchema,
    answers: { 200: daemonTotalsSchema },
    refusals: [403, 422],
  },
  "POST /v1/pairing/start": {
    summary: "Begins a pairing: a code for the person, a token to poll with",
    caller: "anyone",
    body: pairingStartSchema,
    answers: { 201: pairingTicketSchema },
    refusals: [400, 413, 422],
  },
  "POST /v1/pairing/poll": {
    summary: "Waits up to 25 s for the decision; an approval carries the sync token, once",
    caller: "anyone",
    body: pairingPollSchema,
    answers: { 200: pairingResultSchema },
    refusals: [400, 413, 422],
  },
  "GET /v1/workspaces/:ws/overview": {
    summary: "Totals of a period, with what makes them up",
    caller: "person",
    query: periodQuerySchema,
    answers: { 200: overviewSchema },
    refusals: [404, 422],
  },
  "GET /v1/workspaces/:ws/analytics": {
    summary: "Sums by project, model, provider, machine or user, in hours or days",
    caller: "person",
    query: analyticsQuerySchema,
    answers: { 200: analyticsSchema },
    refusals: [400, 404, 422],
  },
  "GET /v1/workspaces/:ws/optimisation": {
    summary: "What could have cost less",
    caller: "person",
    query: periodQuerySchema,
    answers: { 200: optimisationSchema },
    refusals: [404, 422],
  },
  "GET /v1/workspaces/:ws/traces": {
    summary: "Requests, the newest first, a page at a time",
    caller: "person",
    query: tracesQuerySchema,
    answers: { 200: tracesSchema },
    refusals: [400, 404, 422],
  },
  "GET /v1/workspaces/:ws/traces/:request_id": {
    summary: "All that the cloud has of a request but its bodies",
    caller: "person",
    answers: { 200: traceSchema },
    refusals: [404],
  },
  "GET /v1/traces/:request_id/body": {
    summary:
      "The stored body, for its author, or with a reason for an administrator: each view is in the ledger",
    caller: "person",
    answers: { 200: traceBodySchema },
    refusals: [403, 404, 409, 422],
  },
  "GET /v1/workspaces/:ws/audit/requests": {
    summary: "Older requests, as metadata (Business and above)",
    caller: "person",
    query: tracesQuerySchema,
    answers: { 200: tracesSchema },
    refusals: [400, 403, 404, 422],
  },
  "GET /v1/workspaces/:ws/audit/events": {
    summary: "Changes of settings, people, machines and plan (Business and above)",
    caller: "person",
    query: auditEventsQuerySchema,
    answers: { 200: auditEventsSchema },
    refusals: [403, 404, 422],
  },
  "GET /v1/workspaces/:ws/audit/prompt-views": {
    summary: "Who read whose stored bodies, and why (Business and above)",
    caller: "person",
    query: promptViewsQuerySchema,
    answers: { 200: promptViewsSchema },
    refusals: [403, 404, 422],
  },
  "POST /v1/audit/prompt-views": {
    summary: "Writes a view into the ledger before the body is shown by other means (Team and above)",
    caller: "person",
    body: promptViewRequestSchema,
    answers: { 201: promptViewAnswerSchema },
    refusals: [400, 403, 404, 413, 422],
  },
  "GET /v1/consent/checkout": {
    summary: "The words beside the two boxes, and their hash",
    caller: "anyone",
    answers: { 200: checkoutWordingSchema },
    refusals: [],
  },
  "POST /v1/consent/checkout": {
    summary: "Records a person's consent before checkout",
    caller: "person",
    body: checkoutConsentSchema,
    answers: { 201: checkoutConsentAnswerSchema },
    refusals: [400, 403, 413, 422],
  },
} as const satisfies Readonly<Record<string, ApiRoute>>;

/** A route's name: method and path. */
export type ApiRouteName = keyof typeof API_ROUTES;
