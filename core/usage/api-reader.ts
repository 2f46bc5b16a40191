import { createKeyFinder, type KeyFinder } from "./key-finder.ts";
import { type MemberPaths, type PickedMembers, wantMembers } from "./member-picker.ts";
import { ERROR_MEMBERS } from "./provider-error.ts";
import type { UsageFindings } from "./usage-report.ts";

/** Reads one response of an API, message by message: its only JSON body, or the events, lines or elements of a stream. */
export interface MessageReader {
  /** Takes a message in; `whole` says that it is the whole body and no part of a stream. */
  read(message: PickedMembers, whole: boolean): void;
  /** Whether the model is known, so that messages without usage need not be looked at any more. */
  knowsModel(): boolean;
  /** What was found. `ended` says that the stream was seen to its end. */
  end(ended: boolean): UsageFindings;
}

/** How one API's requests and responses are read: one file under `readers/` each, and one line in `api-readers.ts`. */
export interface ApiReader {
  readonly members: MemberPaths;
  /** Bit 0 is `error`, the others the keys that make a message of a stream worth reading. */
  readonly findKeys: KeyFinder;
  /**
   * Whether each usage object of a stream replaces the one before, so that only the last needs to be parsed. Without it
   * every message with one of the keys is read.
   */
  readonly lastWins: boolean;
  /** Whether a stream is lines of JSON instead of server-sent events. */
  readonly lines: boolean;
  /** What a request streams that does not say; null for an API that has no streams. */
  readonly streamsByDefault: boolean | null;
  /** The members of a request that are its prompt, for `prompt_hash`. */
  readonly promptMembers: readonly string[];
  start(provider: string): MessageReader;
}

/** What a reader's file states about its API; the rest follows. */
export interface ApiReaderSpec {
  members: readonly string[];
  keys: readonly string[];
  lastWins?: boolean;
  lines?: boolean;
  streamsByDefault?: boolean | null;
  promptMembers: readonly string[];
  start(provider: string): MessageReader;
}

/** Completes a reader: every API's messages are searched for errors too. */
export function defineApiReader(spec: ApiReaderSpec): ApiReader {
  const looksInto = (member: string) => spec.members.some((own) => own.startsWith(`${member}.`));
  return {
    members: wantMembers([...spec.members, ...ERROR_MEMBERS.filter((member) => !looksInto(member))]),
    findKeys: createKeyFinder(["error", ...spec.keys]),
    lastWins: spec.lastWins ?? false,
    lines: spec.lines ?? false,
    streamsByDefault: spec.streamsByDefault === undefined ? false : spec.streamsByDefault,
    promptMembers: spec.promptMembers,
    start: spec.start,
  };
}
