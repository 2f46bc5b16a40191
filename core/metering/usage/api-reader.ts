import type { ElementPaths } from "./element-picker.ts";
import { createKeyFinder, type KeyFinder } from "./key-finder.ts";
import { compileMemberPaths, type MemberPaths, type PickedMembers } from "./member-picker.ts";
import { ERROR_MEMBERS } from "./provider-error.ts";
import type { UsageFindings } from "./usage-report.ts";

/** Reads one response of an API, message by message: a single JSON body, or the events, lines or elements of a stream. */
export interface MessageReader {
  /** Reads a message. `whole`: the message is the entire body, not a part of a stream. */
  read(message: PickedMembers, whole: boolean): void;
  /** Reads an object in the array named by the API's `elements`. Called before `read` gets the enclosing message. */
  element?(element: PickedMembers): void;
  /** Whether the model is known, so that messages without usage can be skipped. Absent if they can always be skipped. */
  knowsModel?(): boolean;
  /** Returns the findings. `ended`: the stream was read to its end. */
  end(ended: boolean): UsageFindings;
  /** Whether the last message read ends a response on a WebSocket. For an API whose messages have no type. */
  endsAnswer?(): boolean;
  /** Returns the reader of the next response on the same WebSocket, if it needs state from this one. */
  next?(): MessageReader;
}

/** What is known about a response besides its body. */
export interface AnswerFacts {
  readonly provider: string;
  /** The model, if the path names it. */
  readonly routeModel: string | null;
  /** The id of the earlier response that the request fetches, if the path names it. */
  readonly routeId: string | null;
  /** Whether the request only fetches the result of an earlier request. */
  readonly fetches: boolean;
  /** Returns the value of a response header by its lower-case name; null if it is absent. */
  header(lowerCaseName: string): string | null;
}

/** The `header` function of a response whose headers are unknown. */
export const NO_HEADER: AnswerFacts["header"] = () => null;

/** How the requests and responses of an API are read. Each API has a file in `readers/` and a line in `api-readers.ts`. */
export interface ApiReader {
  readonly members: MemberPaths;
  /** The array of a JSON response whose objects are read one by one; null for most APIs. */
  readonly elements: ElementPaths | null;
  /** Finds the keys that make a stream message worth reading. Bit 0 is `error`; the other bits are the reader's keys. */
  readonly findKeys: KeyFinder;
  /**
   * Whether each usage object of a stream replaces the one before, so that only the last one is parsed. Otherwise every
   * message with one of the keys is read.
   */
  readonly lastWins: boolean;
  /**
   * The framing of a stream. `text`: server-sent events or a JSON array. `lines`: JSON lines. `event_stream`: AWS's binary
   * messages. `results`: JSON lines with the results of a batch, whose errors do not belong to the response itself.
   */
  readonly framing: "text" | "lines" | "results" | "event_stream";
  /** Whether a request without a `stream` member streams; null for an API without streams. */
  readonly streamsByDefault: boolean | null;
  /** The request members that form the prompt, for `prompt_hash`. */
  readonly promptMembers: readonly string[];
  /** The request member that contains them; null for the request itself. */
  readonly promptContainer: string | null;
  /** The types of WebSocket messages that end a response. */
  readonly finishTypes: readonly string[];
  start(facts: AnswerFacts): MessageReader;
}

/** The definition of an API. Optional members have defaults. */
interface ApiReaderSpec {
  members: readonly string[];
  elements?: { array: string; members: readonly string[] };
  keys: readonly string[];
  lastWins?: boolean;
  framing?: ApiReader["framing"];
  /** Maximum size of a picked member, in bytes. Defaults to `DEFAULT_MAX_MEMBER_BYTES`. */
  maxMemberBytes?: number;
  streamsByDefault?: boolean | null;
  promptMembers: readonly string[];
  promptContainer?: string;
  finishTypes?: readonly string[];
  start(facts: AnswerFacts): MessageReader;
}

/** Defines an API reader. The messages of every API are also searched for errors. */
export function defineApiReader(spec: ApiReaderSpec): ApiReader {
  const hasSubpath = (member: string) => spec.members.some((own) => own.startsWith(`${member}.`));
  return {
    members: compileMemberPaths(
      [...spec.members, ...ERROR_MEMBERS.filter((member) => !hasSubpath(member))],
      spec.maxMemberBytes,
    ),
    elements: spec.elements
      ? { array: spec.elements.array, members: compileMemberPaths(spec.elements.members) }
      : null,
    findKeys: createKeyFinder(["error", ...spec.keys]),
    lastWins: spec.lastWins ?? false,
    framing: spec.framing ?? "text",
    streamsByDefault: spec.streamsByDefault === undefined ? false : spec.streamsByDefault,
    promptMembers: spec.promptMembers,
    promptContainer: spec.promptContainer ?? null,
    finishTypes: spec.finishTypes ?? [],
    start: spec.start,
  };
}
