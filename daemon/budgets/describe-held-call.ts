import { boundCall, mayCostNothing } from "../../core/budgets/bound/bound-call.ts";
import type { CallFacts, CallUse } from "../../core/budgets/budget.ts";
import type { CallRefused } from "../../core/budgets/decide-call.ts";
import {
  createRefusal,
  createTurnRefusal,
  formatRefusalResponse,
  type RefusedTurn,
} from "../../core/budgets/refusal/create-refusal.ts";
import { nameClient } from "../../core/metering/attribution/program-name.ts";
import { readBillingMode } from "../../core/metering/billing/billing-mode.ts";
import { readCredentialKind } from "../../core/metering/billing/credential.ts";
import { headerValue, pathOf, type RequestHead } from "../../core/metering/exchange/head.ts";
import { readCallIdentity } from "../../core/metering/sessions/call-identity.ts";
import type { SessionTracker } from "../../core/metering/sessions/session-tracker.ts";
import { compileMemberPaths, pickMembers } from "../../core/metering/usage/member-picker.ts";
import { createRequestFactsReader } from "../../core/metering/usage/read-request.ts";
import type { Registry } from "../../core/metering/usage/registry.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import type { CreateContentDecoder } from "../../core/ports/content-decoder.ts";
import type { PriceBook } from "../../core/pricing/price-book.ts";
import { joinBytes } from "../../core/values/join-bytes.ts";
import type { Millis } from "../../core/values/time.ts";
import { createBodyDecoder } from "../capture/body-decoder.ts";
import type { CallAttribution, ConnectionAttribution, ReadCall } from "../capture/ports.ts";
import type { CallQuestion, GateAnswer } from "../proxy/call-question.ts";

/** The dependencies of describing a held call. */
export interface CallSources {
  readonly registry: Registry;
  prices(): PriceBook;
  readonly createDecoder: CreateContentDecoder;
  now(): Millis;
  /** The machine and the person of this installation. */
  readonly place: CallFacts;
  readonly sessions: CallSessions;
  /** Whether the latest calls of a plan of the provider were paid with credits. */
  isOnCredits(provider: string): boolean;
}

/** Finds the sessions that calls do not state, as for their records. */
export interface CallSessions extends Pick<SessionTracker, "resolve"> {
  /** Returns the session of a call of the process that begins now. */
  begin(process: string): string;
}

/** What is known about a held call before its caller is looked up. */
export interface KnownCall {
  readonly question: Pick<CallQuestion, "connection" | "request" | "project">;
  /** Null for a request. */
  readonly turn: RefusedTurn | null;
  readonly head: RequestHead;
  readonly route: MeteredRoute;
  readonly model: string | null;
  readonly facts: CallFacts;
  readonly bound: CallUse;
  readonly attribution: ConnectionAttribution;
  readonly answer: (answer: GateAnswer) => void;
}

/** Returns the route of a call that may cost something. */
export function matchRoute(
  { registry }: Pick<CallSources, "registry">,
  { host, port }: CallQuestion,
  { method, target }: RequestHead,
): MeteredRoute | null {
  const route = registry.match({ host, port, method, path: pathOf(target) });
  return route.kind === "metered" && mayCost(route) ? route : null;
}

/** Whether calls may cost something. Counting tokens, lists of models and the results of earlier calls cost nothing. */
export const mayCost = ({ fetches, api }: MeteredRoute) => fetches !== true && api !== "repeated";

/** Whether each message of a WebSocket is decided on, instead of its handshake. */
export const hasTurns = ({ webSocket, api }: MeteredRoute) =>
  webSocket === true && (api === "openai.responses" || api === "openai.realtime");

/**
 * The largest body that a compressed one is decoded to, in bytes. The text of a larger one exceeds every context window, and the memory of a
 * few would exceed the daemon's.
 */
export const MAX_DECODED_BODY_BYTES: number = 16 * 1024 * 1024;

/**
 * Decodes the body if all of it is there. Calls back at once unless it is compressed; with null if it can't be decoded, or becomes too
 * large.
 */
export function readBody(
  { createDecoder }: Pick<CallSources, "createDecoder">,
  { body, isWhole, isTurn = false }: Pick<CallQuestion, "body" | "isWhole"> & Partial<CallQuestion>,
  head: RequestHead,
  then: (body: Uint8Array | null) => void,
): void {
  // A message was decoded as a whole.
  if (isTurn) return then(body);
  const pieces: Uint8Array[] = [];
  const encoding = headerValue(head.headers, "content-encoding");
  if (encoding !== null && !isWhole) return then(null);
  const maxBytes = Math.max(MAX_DECODED_BODY_BYTES, body.length);
  let size = 0;
  const decoder = createBodyDecoder(createDecoder, encoding, (bytes) => {
    size += bytes.length;
    if (size <= maxBytes) pieces.push(bytes);
    else pieces.length = 0;
  });
  decoder.push(body);
  decoder.end((readable) => then(readable && size <= maxBytes ? joinBytes(pieces) : null));
}

/** Reads what the request itself states. */
export function describeCall(
  sources: CallSources,
  question: CallQuestion,
  head: RequestHead,
  route: MeteredRoute,
  body: Uint8Array | null,
  attribution: ConnectionAttribution,
  answer: (answer: GateAnswer) => void,
): KnownCall {
  const reader = createRequestFactsReader(route);
  if (body !== null) reader.push(body);
  const { model, ...bound } = boundCall(
    { route, body, bodyBytes: question.isWhole ? (body?.length ?? null) : null, at: sources.now() },
    sources.prices(),
  );
  const facts = statedFacts(sources, { head, route, ...reader.end() });
  return { question, turn: readTurn(question, route), head, route, model, facts, bound, attribution, answer };
}

/**
 * Returns the facts that the start of a long body states. Null: they are not enough for any decision, because the body is encoded, or because
 * the call may cost nothing.
 */
export function readStart(
  sources: CallSources,
  { body, isTurn }: Pick<CallQuestion, "body" | "isTurn">,
  head: RequestHead,
  route: MeteredRoute,
): CallFacts | null {
  if (!isTurn && headerValue(head.headers, "content-encoding") !== null) return null;
  const reader = createRequestFactsReader(route);
  reader.push(body);
  const { requestedModel, deployedModel = null } = reader.end();
  const call = { route, model: deployedModel ?? requestedModel, at: sources.now() };
  if (mayCostNothing(call, sources.prices())) return null;
  // The rest may state the session and the agent.
  const { session, agent, ...facts } = statedFacts(sources, { head, route, requestedModel, deployedModel });
  return facts;
}

/** Returns the facts that a request states. */
export function statedFacts(
  { sessions, place, isOnCredits }: Pick<CallSources, "sessions" | "place" | "isOnCredits">,
  {
    head,
    route,
    requestedModel,
    deployedModel,
    stated,
  }: Pick<ReadCall, "head" | "route" | "requestedModel" | "deployedModel" | "stated">,
): CallFacts {
  const identity = sessions.resolve(readCallIdentity({ headers: head.headers, body: stated ?? null }));
  const planned = readBillingMode({
    provider: route.provider,
    billing: route.billing ?? null,
    credential: readCredentialKind(head.headers, head.target),
    responseHeaders: null,
    usesCredits: null,
    models: [requestedModel ?? ""],
  });
  const model = deployedModel ?? requestedModel;
  return {
    ...place,
    provider: route.provider,
    ...(model !== null && { model }),
    // A session that is not stated depends on the calling process.
    ...(identity.sessionId !== null && { session: identity.sessionId }),
    agent: identity.agentId,
    // Only the response states that a plan's limit was reached.
    billing: planned === "plan" && isOnCredits(route.provider) ? "credits" : planned,
  };
}

/** Returns the caller if it is known already, and null if it must be looked up. */
export function knownAttribution({
  question,
  head,
  attribution,
}: Pick<KnownCall, "question" | "head" | "attribution">): CallAttribution | null {
  const known = attribution.known?.(projectOf(question, head)) ?? null;
  const git = attribution.git?.() ?? null;
  return known === null || git instanceof Promise ? null : { ...known, git };
}

export async function attributeCall({ question, head, attribution }: KnownCall): Promise<CallAttribution> {
  const [found, git] = await Promise.all([
    attribution.attribute(projectOf(question, head)),
    attribution.git?.() ?? null,
  ]);
  return { ...found, git };
}

const projectOf = ({ project }: Pick<CallQuestion, "project">, { headers }: RequestHead) =>
  project ?? headerValue(headers, "x-meter-project");

/** Returns the facts of the caller, as far as it is known, and the name of the client's program. */
export function callerFacts({ head }: Pick<KnownCall, "head">, attribution: CallAttribution | null) {
  const program = attribution?.client ?? null;
  const caller: CallFacts =
    attribution === null
      ? {}
      : {
          project: attribution.project,
          branch: attribution.git?.branch ?? null,
          client: nameClient(program, headerValue(head.headers, "user-agent")),
        };
  return { caller, program };
}

/** Returns all facts, as far as the caller is known, and the name of the client's program. */
export function completeFacts(
  { sessions }: Pick<CallSources, "sessions">,
  call: KnownCall,
  attribution: CallAttribution | null,
) {
  const { caller, program } = callerFacts(call, attribution);
  const facts: CallFacts = {
    ...call.facts,
    ...caller,
    ...(attribution !== null && { session: call.facts.session ?? inferSession(sessions, attribution) }),
  };
  return { facts, program };
}

/** Without a process, the session is never known. */
const inferSession = (sessions: CallSessions, { processId }: CallAttribution): string | null =>
  processId === undefined ? null : sessions.begin(String(processId));

export function formatAnswer(
  { turn, head, route }: Pick<KnownCall, "turn" | "head" | "route">,
  refused: CallRefused,
  program: string | null,
): Uint8Array {
  if (turn === null)
    return formatRefusalResponse(
      createRefusal(route, { headers: head.headers, program }, refused),
      head.method,
    );
  return new TextEncoder().encode(createTurnRefusal(route, turn, refused));
}

const EVENT_ID = compileMemberPaths(["event_id"], 1_024);

/** Reads what the answer to a turn of a WebSocket needs of it. Null for a request. */
export function readTurn(
  { body, isTurn }: Pick<CallQuestion, "body" | "isTurn">,
  { api }: Pick<MeteredRoute, "api">,
): RefusedTurn | null {
  if (!isTurn) return null;
  return { eventId: api === "openai.realtime" ? pickMembers(body, EVENT_ID).string("event_id") : null };
}
