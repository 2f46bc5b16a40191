import type { HeaderList } from "../exchange/head.ts";
import {
  ANY_CLIENT,
  KNOWN_CLIENTS,
  type KnownClient,
  type Source,
  type StatedSources,
  TRACE,
} from "./clients.ts";
import { MAX_STATED_CHARACTERS, type StatedMembers, sourcesOf } from "./stated-members.ts";

/** Who made a call, in the client's own ids. Null is unknown, for an agent also the session's main agent. */
export interface CallIdentity {
  readonly sessionId: string | null;
  readonly turnId: string | null;
  readonly agentId: string | null;
  readonly parentAgentId: string | null;
  readonly agentKind: string | null;
  readonly clientVersion: string | null;
  /** Whether the agent is a separate session, and `sessionId` the one that started it, which may be an agent too. */
  readonly isChildSession: boolean;
}

/** An id: visible ASCII characters. Source: docs/specification.md#sessions. */
const ID = /^[\x21-\x7e]{1,128}$/;

/** A kind of sub-agent: words. */
const KIND = /^[\w.:/-][\w.:/ -]{0,63}$/;

/** Returns an id that a client states in another place than a request, by the same rule. Otherwise null. */
export const readStatedId = (text: string | null): string | null =>
  text !== null && ID.test(text) ? text : null;

/** The same for a kind of sub-agent. */
export const readStatedKind = (text: string | null): string | null =>
  text !== null && KIND.test(text) ? text : null;

/** The version in a `User-Agent`, after its first slash. */
const VERSION = /^[^/]{1,40}\/v?(\d[\w.+-]{0,63})(?=$|[\s/(;])/;

/** The headers that are read, from all sources. */
const HEADERS: ReadonlySet<string> = new Set([
  "user-agent",
  ...[...KNOWN_CLIENTS, ANY_CLIENT, { turn: [TRACE] }]
    .flatMap(sourcesOf)
    .flatMap((source) => (source.in === "header" ? [source.name] : [])),
  ...KNOWN_CLIENTS.flatMap(({ ownHeaders = [] }) => ownHeaders),
]);

/** The headers and the members of the body that one call states. */
interface Statements {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: StatedMembers | null;
  /** The texts that were parsed so far; null for a text that is not a JSON object. */
  readonly parsed: Map<string, Readonly<Record<string, unknown>> | null>;
}

/** The facts of a call that states its session. */
export interface IdentifyingFacts {
  readonly headers: HeaderList;
  /** The members of the body, or of the message that began a turn in a WebSocket. */
  readonly body: StatedMembers | null;
  /** Whether the headers are those of a WebSocket's handshake, which say nothing about its later turns. */
  readonly isHandshake?: boolean;
}

/** Reads the session, turn and agent that a call states, and its client's version. Never throws. */
export function readCallIdentity({ headers, body, isHandshake = false }: IdentifyingFacts): CallIdentity {
  const statements: Statements = { headers: collectHeaders(headers), body, parsed: new Map() };
  const userAgent = statements.headers.get("user-agent") ?? "";
  const named = findByUserAgent(userAgent);
  const client = named ?? KNOWN_CLIENTS.find((known) => sendsOwnHeader(known, statements));
  const find = (sources: readonly Source[] | undefined, form: RegExp, isOfTurn = false) =>
    findStated(statements, sources ?? [], form, isOfTurn && isHandshake);
  const stated: StatedSources = client ?? {};
  const session = find(stated.session, ID) ?? find(ANY_CLIENT.session, ID);
  const isGenuine = named !== undefined && (named.isImitated !== true || session !== null);
  return {
    ...relate({
      session,
      agent: find(stated.agent, ID),
      parentAgent: find(stated.parentAgent, ID),
      parentSession: find(stated.parentSession, ID) ?? find(ANY_CLIENT.parentSession, ID),
    }),
    turnId: find(stated.turn, ID, true) ?? find([TRACE], ID, true),
    agentKind: find(stated.agentKind, KIND, true),
    clientVersion: isGenuine ? (VERSION.exec(userAgent)?.[1] ?? null) : null,
  };
}

interface StatedIds {
  readonly session: string | null;
  readonly agent: string | null;
  readonly parentAgent: string | null;
  readonly parentSession: string | null;
}

/** Decides which of the ids are the session's, the agent's and its parent's. */
function relate({ session, agent, parentAgent, parentSession }: StatedIds) {
  const isChildSession = session !== null && parentSession !== null && parentSession !== session;
  const sessionId = isChildSession ? parentSession : session;
  const ownAgent = session === null || agent === session ? null : agent;
  const agentId = isChildSession ? session : ownAgent;
  const isKnownParent = agentId !== null && parentAgent !== sessionId && parentAgent !== agentId;
  return { sessionId, agentId, parentAgentId: isKnownParent ? parentAgent : null, isChildSession };
}

function collectHeaders(headers: HeaderList): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of headers) {
    const lowerCase = name.toLowerCase();
    // The first of a repeated header counts, as elsewhere.
    if (HEADERS.has(lowerCase) && !found.has(lowerCase)) found.set(lowerCase, value);
  }
  return found;
}

function findByUserAgent(userAgent: string): KnownClient | undefined {
  const start = userAgent.slice(0, 40).toLowerCase();
  return KNOWN_CLIENTS.find(({ userAgents }) => userAgents.some((known) => start.startsWith(known)));
}

function sendsOwnHeader({ ownHeaders = [] }: KnownClient, { headers }: Statements): boolean {
  return ownHeaders.some((name) => headers.has(name));
}

/** Returns the first stated value of the right form. */
function findStated(
  statements: Statements,
  sources: readonly Source[],
  form: RegExp,
  ignoresHeaders: boolean,
): string | null {
  for (const source of sources) {
    if (ignoresHeaders && source.in === "header") continue;
    const value = readSource(statements, source);
    if (value !== null && form.test(value)) return value;
  }
  return null;
}

function readSource({ headers, body, parsed }: Statements, source: Source): string | null {
  const text = (source.in === "header" ? headers : body)?.get(source.name);
  if (text === undefined || text.length > MAX_STATED_CHARACTERS) return null;
  const { member, pattern } = source;
  if (member !== undefined && !parsed.has(text)) parsed.set(text, parseObject(text));
  const value = member === undefined ? text : parsed.get(text)?.[member];
  if (typeof value !== "string") return null;
  return pattern === undefined ? value : (pattern.exec(value)?.[1] ?? null);
}

/** Parses a JSON object. Null for any other text. */
function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  if (!text.startsWith("{")) return null;
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return null;
  }
}
