import type { ElementPaths } from "./element-picker.ts";
import { createKeyFinder, type KeyFinder } from "./key-finder.ts";
import { type MemberPaths, type PickedMembers, wantMembers } from "./member-picker.ts";
import { ERROR_MEMBERS } from "./provider-error.ts";
import type { UsageFindings } from "./usage-report.ts";

/** Reads one response of an API, message by message: its only JSON body, or the events, lines or elements of a stream. */
export interface MessageReader {
  /** Takes a message in; `whole` says that it is the whole body and no part of a stream. */
  read(message: PickedMembers, whole: boolean): void;
  /** Takes an object in out of the array that the reader's `elements` name, before the message that it stands in. */
  element?(element: PickedMembers): void;
  /** Whether the model is known, so that messages without usage need not be looked at any more. */
  knowsModel(): boolean;
  /** What was found. `ended` says that the stream was seen to its end. */
  end(ended: boolean): UsageFindings;
  /** Whether the message just read ends an answer on a WebSocket; for an API whose messages have no type. */
  endsAnswer?(): boolean;
  /** The reader of the next answer on the same WebSocket, where something of this one is of use to it. */
  next?(): MessageReader;
}

/** What is known of an answer besides its body. */
export interface AnswerFacts {
  readonly provider: string;
  /** The model where the path names it. */
  readonly routeModel: string | null;
  /** Whether the request only fetches what an earlier one made. */
  readonly fetches: boolean;
  /** The value of a response header, by its lower-case name; null when it is absent. */
  header(lowerCaseName: string): string | null;
}

/** The headers of an answer of which they are not known. */
export const NO_HEADER: AnswerFacts["header"] = () => null;

/** How one API's requests and responses are read: one file under `readers/` each, and one line in `api-readers.ts`. */
export interface ApiReader {
  readonly members: MemberPaths;
  /** The array of a whole JSON answer whose objects are looked into; null for most. */
  readonly elements: ElementPaths | null;
  /** Bit 0 is `error`, the others the keys that make a message of a stream worth reading. */
  readonly findKeys: KeyFinder;
  /**
   * Whether each usage object of a stream replaces the one before, so that only the last needs to be parsed. Without it
   * every message with one of the keys is read.
   */
  readonly lastWins: boolean;
  /**
   * How a stream is framed: server-sent events or a JSON array, lines of JSON, or AWS's binary messages; `results` are
   * lines of JSON that are the results of a batch, whose errors are not the answer's own.
   */
  readonly framing: "text" | "lines" | "results" | "event_stream";
  /** What a request streams that does not say; null for an API that has no streams. */
  readonly streamsByDefault: boolean | null;
  /** The members of a request that are its prompt, for `prompt_hash`. */
  readonly promptMembers: readonly string[];
  /** The member of the request that holds them; null for the request itself. */
  readonly promptIn: string | null;
  /** The types of the messages of a WebSocket that end an answer each. */
  readonly finishTypes: readonly string[];
  start(facts: AnswerFacts): MessageReader;
}

/** What a reader's file states about its API; the rest follows. */
export interface ApiReaderSpec {
  members: readonly string[];
  elements?: { array: string; members: readonly string[] };
  keys: readonly string[];
  lastWins?: boolean;
  framing?: ApiReader["framing"];
  /** The longest member that is kept, in bytes, where it is not `DEFAULT_MAX_MEMBER_BYTES`. */
  maxMemberBytes?: number;
  streamsByDefault?: boolean | null;
  promptMembers: readonly string[];
  promptIn?: string;
  finishTypes?: readonly string[];
  start(facts: AnswerFacts): MessageReader;
}

/** Completes a reader: every API's messages are searched for errors too. */
export function defineApiReader(spec: ApiReaderSpec): ApiReader {
  const looksInto = (member: string) => spec.members.some((own) => own.startsWith(`${member}.`));
  return {
    members: wantMembers(
      [...spec.members, ...ERROR_MEMBERS.filter((member) => !looksInto(member))],
      spec.maxMemberBytes,
    ),
    elements: spec.elements
      ? { array: spec.elements.array, members: wantMembers(spec.elements.members) }
      : null,
    findKeys: createKeyFinder(["error", ...spec.keys]),
    lastWins: spec.lastWins ?? false,
    framing: spec.framing ?? "text",
    streamsByDefault: spec.streamsByDefault === undefined ? false : spec.streamsByDefault,
    promptMembers: spec.promptMembers,
    promptIn: spec.promptIn ?? null,
    finishTypes: spec.finishTypes ?? [],
    start: spec.start,
  };
}
