import type { GitState } from "../../core/metering/attribution/git-state.ts";
import type { CoverageKind, UnmeteredCall } from "../../core/metering/coverage/coverage-kinds.ts";
import type { RequestHead } from "../../core/metering/exchange/head.ts";
import type { SessionTracker } from "../../core/metering/sessions/session-tracker.ts";
import type { RequestFacts } from "../../core/metering/usage/read-request.ts";
import type { Registry } from "../../core/metering/usage/registry.ts";
import type { MeteredRoute } from "../../core/metering/usage/route.ts";
import type { CreateContentDecoder } from "../../core/ports/content-decoder.ts";
import type { Log } from "../../core/ports/log.ts";
import type { CreateMessageInflater } from "../../core/ports/message-inflater.ts";
import type { ProcessFacts } from "../../core/ports/process-table.ts";
import type { TokenCounter } from "../../core/ports/token-counter.ts";
import type { PriceBook } from "../../core/pricing/price-book.ts";
import type { Redact } from "../../core/privacy/redaction/redact.ts";
import type { RequestRecord } from "../../core/values/record.ts";
import type { Millis } from "../../core/values/time.ts";
import type { LimitTracker } from "../limits/limit-tracker.ts";
import type { CapturedBody } from "../store/port/bodies.ts";
import type { StoredResponse } from "../store/port/records.ts";

/** The project of a call, and how it was found. */
export interface CallAttribution {
  project: string;
  tier: string;
  workdir: string | null;
  client: string | null;
  /** What Git and CI state about the working directory at the time of the call. Absent or null: unknown. */
  git?: GitState | null;
  /** The calling process. Absent if it is unknown. */
  processId?: number;
  /** The process was looked up and not found. */
  isCallerMissing?: true;
  /** Whether the project's `.meter.toml` refuses body capture. The file can't switch it on. */
  bodyCaptureRefused: boolean;
}

/** The program at the client end of a connection. */
export interface CallingProgram {
  /** The script, package or module for an interpreter, else the program's name. */
  readonly name: string;
  /** The process's own name, such as `node`. */
  readonly runtime: string;
}

/** Attributes the calls of one connection. The caller is looked up once. */
export interface ConnectionAttribution {
  attribute(headerProject: string | null): Promise<CallAttribution>;
  /** Returns what `attribute()` resolves with if that is known already, so that a record need not wait; null otherwise. */
  known?(headerProject: string | null): CallAttribution | null;
  /** Returns the program that opened the connection; null if it is unknown. */
  program?(): Promise<CallingProgram | null>;
  /**
   * Returns the state of the caller's working tree now; a promise if it has to be read. Null if the caller works in none, or is
   * unknown. Never rejects.
   */
  git?(): GitState | null | Promise<GitState | null>;
  /**
   * Returns an attribution without the caller while the caller is being looked up, and null afterwards. Without this method,
   * a record is stored only once its caller is known.
   */
  provisional?(headerProject: string | null): CallAttribution | null;
}

/** The facts of a connection. */
export interface ConnectionFacts {
  host: string;
  port: number;
  attribution: ConnectionAttribution;
}

export interface BodyPorts {
  /** Whether any project has capture on. Otherwise no body is buffered. */
  isEnabledAnywhere(): boolean;
  isEnabledFor(project: string): boolean;
  /** The maximum stored size of a body, in UTF-8 bytes. */
  readonly maxBytes: number;
  redact: Redact;
  add(body: CapturedBody): void;
}

export interface CapturePorts {
  registry: Registry;
  prices(): PriceBook;
  /** `caller` is the process at the client end, if it is known already. */
  attribution(connection: {
    readonly clientPort: number;
    readonly proxyUser: string | null;
    readonly caller?: ProcessFacts;
  }): ConnectionAttribution;
  /** The sessions of all calls, shared with the decisions on held calls. Default: its own. */
  sessions?: SessionTracker;
  createDecoder: CreateContentDecoder;
  createMessageInflater: CreateMessageInflater;
  /** Estimates token counts that the provider did not report. Null if estimates are off. */
  tokenCounter(): TokenCounter | null;
  sha256Hex(text: string): string;
  randomBytes(count: number): Uint8Array;
  wallClockMs(): Millis;
  /** The clock of the tap log, which never steps back. */
  monotonicMs(): number;
  /** Runs the work once, after the current turn of the event loop. */
  atTurnEnd(work: () => void): void;
  records: {
    add(record: RequestRecord): void;
    /** Updates the attribution of records that were added before their callers were known. */
    attribute(records: readonly RequestRecord[]): void;
  };
  /** Finds the stored record of a response that its provider can return again. */
  findStoredResponse(providerResponseId: string): StoredResponse | null;
  bodies: BodyPorts;
  coverage: {
    /** Counts an event. `host` is null if its name must not be stored. `call` names the call, without its ids. */
    count(host: string | null, what: CoverageKind, call?: UnmeteredCall): void;
    /** Counts the start of a metered call. The returned function must be called once, when the call is recorded or discarded. */
    begin(host: string): () => void;
  };
  /** Follows the limits that responses state. Without it, they are not read. */
  limits?: Pick<LimitTracker, "add">;
  /** Hashes what identifies an account, with a key of this installation. Without it, accounts are unknown. */
  hashAccount?(identity: string): string;
  /** Follows the calls that budgets admitted. Without it, none are held. */
  heldCalls?: HeldCallEvents;
  log: Log;
}

/** What the request of a call states. */
export interface ReadCall extends Pick<RequestFacts, "requestedModel" | "deployedModel" | "stated"> {
  readonly head: RequestHead;
  readonly route: MeteredRoute;
  /** The project that the request names; null if it names none. */
  readonly project: string | null;
  readonly attribution: ConnectionAttribution;
}

/** What the log shows of the calls that budgets admitted. */
export interface HeldCallEvents {
  /** The call was sent without a decision. The relay counts it under this number until the sums contain it. */
  passed(connection: number, request: number, pass: number): void;
  /** The log has shown the call. */
  began(connection: number, request: number): void;
  /** The log has shown all of its request. */
  read(connection: number, request: number, call: ReadCall): void;
  /** The call has ended, and becomes a record with this id. Null: it becomes none. Repeatable. */
  ended(connection: number, request: number, requestId: string | null): void;
  /** The connection has ended: its other calls never reached a provider. */
  closed(connection: number): void;
  /** The proxy has ended a call by such an order. */
  cut(budget: string): void;
}
