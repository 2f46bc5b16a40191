import type { CreateContentDecoder } from "../../core/ports/content-decoder.ts";
import type { Log } from "../../core/ports/log.ts";
import type { CreateMessageInflater } from "../../core/ports/message-inflater.ts";
import type { TokenCounter } from "../../core/ports/token-counter.ts";
import type { PriceBook } from "../../core/pricing/mod.ts";
import type { RequestRecord } from "../../core/record.ts";
import type { Redact } from "../../core/redaction/mod.ts";
import type { Millis } from "../../core/time.ts";
import type { Registry } from "../../core/usage/mod.ts";
import type { CapturedBody, CoverageKind, KeptResponse } from "../store/mod.ts";

/** Which project a call belongs to, and how that was found. */
export interface CallAttribution {
  project: string;
  tier: string;
  workdir: string | null;
  client: string | null;
  /** What the project's own `.meter.toml` says of body capture: it may only switch it off. */
  bodyCaptureRefused: boolean;
}

/** Attribution of all calls of one connection: what is known of the caller is looked up once. */
export interface ConnectionAttribution {
  attribute(headerProject: string | null): Promise<CallAttribution>;
}

/** What is known of a connection for as long as it lasts. */
export interface ConnectionFacts {
  host: string;
  port: number;
  attribution: ConnectionAttribution;
}

export interface BodyPorts {
  /** Whether any project has capture on: where none has, no body is kept for a moment. */
  wantedAnywhere(): boolean;
  wantedFor(project: string): boolean;
  /** The most that is stored of one leg, in UTF-8 bytes. */
  readonly maxBytes: number;
  redact: Redact;
  add(body: CapturedBody): void;
}

export interface CapturePorts {
  registry: Registry;
  prices(): PriceBook;
  attribution(caller: {
    readonly clientPort: number;
    readonly proxyUser: string | null;
  }): ConnectionAttribution;
  createDecoder: CreateContentDecoder;
  createMessageInflater: CreateMessageInflater;
  /** Estimates counts that the provider did not state; null where nobody asked for that. */
  tokenCounter: TokenCounter | null;
  sha256Hex(text: string): string;
  randomBytes(count: number): Uint8Array;
  wallClockMs(): Millis;
  /** The clock of the tap log: it never jumps. */
  monotonicMs(): number;
  /** Runs the work once, after the current turn of the event loop. */
  atTurnEnd(work: () => void): void;
  records: { add(record: RequestRecord): void };
  /** The record of a response that its provider hands out again, among those that are stored. */
  findKeptResponse(providerResponseId: string): KeptResponse | null;
  bodies: BodyPorts;
  coverage: {
    /** `host` is null where its name is nobody's business. */
    count(host: string | null, what: CoverageKind): void;
    /** A metered call began; what it gives back is called once, when the call is a record or will never be one. */
    begin(host: string): () => void;
  };
  log: Log;
}
