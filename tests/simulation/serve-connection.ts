import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { noUsage, type ProviderName } from "./answer.ts";
import type { createResponder, PlainAnswer } from "./answer-request.ts";
import {
  createRequestParser,
  type ReceivedRequest,
  type RequestParser,
  requestHeader,
} from "./request-parser.ts";
import { createSeededRandom } from "./seeded-random.ts";
import { type SendTarget, type SentAnswer, sendAnswer } from "./send-answer.ts";
import type { OtherRequest, SimulatedCall } from "./simulated-call.ts";
import { webSocketAccept } from "./web-socket-accept.ts";
import { holdSession, opensSession } from "./web-socket-session.ts";

/** A connection to the simulation, with the exact decrypted bytes of both directions. */
export interface SimulatedConnection {
  /** The server name in the TLS handshake; `null` on the plain port. */
  serverName: string | null;
  received: Buffer[];
  sent: Buffer[];
}

/** What all connections of a simulation share. */
export interface SharedState {
  readonly seed: string;
  readonly responseDelayMs: number;
  readonly recordBytes: boolean;
  readonly providers: Readonly<Record<string, ProviderName>>;
  readonly answerRequest: ReturnType<typeof createResponder>;
  readonly calls: SimulatedCall[];
  readonly otherRequests: OtherRequest[];
  readonly connections: SimulatedConnection[];
  readonly pendingResponses: Set<Promise<void>>;
  /** The number of the next call. */
  nextOrdinal: number;
}

/** One connection. */
interface State {
  readonly shared: SharedState;
  readonly socket: Socket;
  serverName(): string | null;
  readonly target: SendTarget;
  readonly connection: SimulatedConnection;
  /** Its place among the connections that were used; -1 before its first byte. */
  index: number;
  /** The responses, one after the other. */
  queue: Promise<void>;
  upgraded: "echo" | "session" | null;
  isClosing: boolean;
}

const NOTHING = Buffer.alloc(0);

/** Serves a connection. `lower` is the TCP socket below `socket`; `serverName` is null without TLS. */
export function serveConnection(
  shared: SharedState,
  socket: Socket,
  lower: Socket,
  serverName: () => string | null,
): void {
  const connection: SimulatedConnection = { serverName: null, received: [], sent: [] };
  const state: State = {
    shared,
    socket,
    serverName,
    target: createTarget(shared, connection, socket, lower),
    connection,
    index: -1,
    queue: Promise.resolve(),
    upgraded: null,
    isClosing: false,
  };
  const parser = createParser(state);
  socket.on("data", (bytes: Buffer) => onData(state, parser, bytes));
  socket.on("error", () => socket.destroy());
  socket.on("end", () => void state.queue.then(() => socket.end()));
}

function createTarget(
  { recordBytes }: SharedState,
  { sent }: SimulatedConnection,
  socket: Socket,
  lower: Socket,
): SendTarget {
  return {
    socket,
    destroy(reset) {
      if (reset) lower.resetAndDestroy();
      else lower.destroy();
    },
    write(bytes) {
      if (socket.destroyed || !socket.writable) return Promise.resolve(false);
      if (recordBytes) sent.push(bytes);
      return new Promise((resolve) => socket.write(bytes, (error) => resolve(error == null)));
    },
  };
}

function createParser(state: State): RequestParser {
  const { target, socket } = state;
  return createRequestParser({
    head(request) {
      if (requestHeader(request, "expect")?.toLowerCase() === "100-continue")
        enqueue(state, async () => void (await target.write(Buffer.from("HTTP/1.1 100 Continue\r\n\r\n"))));
    },
    request: (request) => enqueue(state, () => answer(state, request)),
    unreadable(reason) {
      enqueue(state, async () => {
        await target.write(
          Buffer.from(`HTTP/1.1 400 ${reason}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`),
        );
        socket.end();
      });
    },
  });
}

function onData(state: State, parser: RequestParser, bytes: Buffer): void {
  const { shared, connection, upgraded } = state;
  if (state.index === -1) state.index = shared.connections.push(connection) - 1;
  connection.serverName ??= state.serverName();
  if (shared.recordBytes) connection.received.push(bytes);
  // After an upgrade without a session, echo all bytes.
  if (upgraded === "echo") void state.target.write(bytes);
  else if (upgraded === null) parser.push(bytes);
}

function enqueue(state: State, work: () => Promise<void>): void {
  const { pendingResponses } = state.shared;
  const done = state.queue.then(work).catch((error: unknown) => {
    // A bug in the simulation: report it, and break the client's connection.
    console.error("simulation:", error);
    state.socket.destroy();
  });
  state.queue = done;
  pendingResponses.add(done);
  done.finally(() => pendingResponses.delete(done));
}

async function answer(state: State, request: ReceivedRequest): Promise<void> {
  if (state.isClosing) return;
  const { providers, answerRequest } = state.shared;
  const host = (requestHeader(request, "host") ?? "").toLowerCase().replace(/:\d+$/, "");
  const provider = Object.hasOwn(providers, host)
    ? (providers[host] as ProviderName)
    : state.serverName() === null
      ? "ollama"
      : null;
  if (provider === null) return sendPlain(state, request, host, misdirected(request.target));
  if (opensSession(request)) {
    state.upgraded = "session";
    return serveSession(state, request, provider, host);
  }
  const found = answerRequest(provider, request);
  if (found.kind === "plain") return sendPlain(state, request, host, found);
  await answerCall(state, request, { provider, host, found });
}

/** What a request on a path with usage is answered. */
interface Found {
  readonly provider: ProviderName;
  readonly host: string;
  readonly found: Exclude<ReturnType<SharedState["answerRequest"]>, PlainAnswer>;
}

async function answerCall(state: State, request: ReceivedRequest, call: Found): Promise<void> {
  const { shared, socket, target } = state;
  const { answer: given, scenario } = call.found;
  const ordinal = shared.nextOrdinal++;
  const isSilent = scenario.outcome === "silence";
  if (shared.responseDelayMs > 0) await delay(shared.responseDelayMs);
  const sent = isSilent
    ? await waitForClientClose(socket)
    : await sendAnswer(
        target,
        given,
        { acceptEncoding: requestHeader(request, "accept-encoding") ?? "" },
        scenario,
        createSeededRandom(`${shared.seed} sending ${ordinal}`),
      );
  shared.calls.push({
    ...describeCall(state, request, call),
    ordinal,
    model: given.model,
    requestedModel: call.found.requestedModel,
    streaming: given.streaming,
    status: isSilent ? null : given.status,
    ...sent.stated,
    delivery: sent.delivery,
    requestBody: shared.recordBytes ? request.body : NOTHING,
    contentEncoding: sent.contentEncoding,
    responsePlain: shared.recordBytes ? sent.plain : NOTHING,
    responseEncoded: shared.recordBytes ? sent.encoded : NOTHING,
  });
  if (sent.closes || wantsClose(request)) closeConnection(state);
}

/** What calls over HTTP and in a WebSocket have in common. */
function describeCall({ index }: State, request: ReceivedRequest, { provider, host, found }: Found) {
  const { answer: given } = found;
  return {
    connection: index,
    provider,
    host,
    method: request.method,
    path: found.path,
    api: found.api,
    scenario: found.scenario,
    serviceTier: given.serviceTier,
    extras: given.extras,
    error: given.error,
    responseId: given.responseId,
    requestHeaders: request.headers,
  };
}

function serveSession(state: State, request: ReceivedRequest, provider: ProviderName, host: string): void {
  const { shared, socket, connection } = state;
  const write = socket.write.bind(socket) as (...words: unknown[]) => boolean;
  socket.write = (bytes: Uint8Array | string, ...rest: unknown[]) => {
    if (shared.recordBytes) connection.sent.push(Buffer.from(bytes as string));
    return write(bytes, ...rest);
  };
  holdSession(request, {
    socket,
    answer: (call) => shared.answerRequest(provider, call),
    answered({ found, message, stated, delivery, sent }) {
      const told = Buffer.from(sent);
      const { searchParams } = new URL(request.target, "http://simulation.invalid");
      shared.calls.push({
        ...describeCall(state, request, { provider, host, found }),
        ordinal: shared.nextOrdinal++,
        model: found.answer.status >= 400 ? null : found.answer.model,
        requestedModel: found.requestedModel ?? searchParams.get("model"),
        streaming: true,
        status: 101,
        ...stated,
        delivery,
        requestBody: message,
        contentEncoding: null,
        responsePlain: told,
        responseEncoded: told,
      });
    },
  });
}

function closeConnection(state: State): void {
  state.isClosing = true;
  if (!state.socket.destroyed) state.socket.end();
}

async function sendPlain(
  state: State,
  request: ReceivedRequest,
  host: string,
  plain: PlainAnswer,
): Promise<void> {
  const { shared, target, index } = state;
  const accept = webSocketAccept(request);
  const status = accept === null ? plain.status : 101;
  shared.otherRequests.push({ connection: index, host, method: request.method, path: plain.path, status });
  if (accept !== null) {
    state.upgraded = "echo";
    await target.write(Buffer.from(accept));
    return;
  }
  const body = Buffer.from(plain.text);
  const head = `HTTP/1.1 ${status} Simulated\r\nContent-Type: ${plain.contentType}\r\nContent-Length: ${body.length}\r\n\r\n`;
  await target.write(Buffer.concat([Buffer.from(head), request.method === "HEAD" ? NOTHING : body]));
  if (wantsClose(request)) closeConnection(state);
}

function wantsClose(request: ReceivedRequest): boolean {
  return requestHeader(request, "connection")?.toLowerCase() === "close";
}

/** Sends nothing and waits until the client closes the connection. */
async function waitForClientClose(socket: Socket): Promise<SentAnswer> {
  if (!socket.destroyed) await new Promise((done) => socket.once("close", done).once("end", done));
  return {
    stated: noUsage,
    delivery: "client_gone",
    contentEncoding: null,
    plain: NOTHING,
    encoded: NOTHING,
    closes: true,
  };
}

function misdirected(path: string): PlainAnswer {
  return { kind: "plain", path, status: 421, contentType: "text/plain", text: "no such host here\n" };
}
