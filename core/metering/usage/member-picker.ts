import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  isJsonSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "../../values/text/json-bytes.ts";
import { type ByteStore, createByteStore } from "../exchange/byte-store.ts";
import { decodeUtf8 } from "../exchange/bytes.ts";
import { asObject } from "./token-counts.ts";

/**
 * Default maximum length of a picked member, in bytes; longer members are skipped. Usage objects have a few hundred bytes,
 * error objects a few thousand. The limit bounds the memory that a hostile response can take.
 */
export const DEFAULT_MAX_MEMBER_BYTES = 64 * 1024;

/** The most characters of a name or an id. They are kept, and the names of models in the database as well. */
export const MAX_NAME_CHARACTERS = 1_024;

/** Strings longer than this are searched with `indexOf`, whose call overhead is about this many loop steps. */
const LONG_STRING_BYTES = 48;

interface WantedMember {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The index of its text, or -1 if only nested members are wanted. */
  readonly slot: number;
  readonly members: readonly WantedMember[];
}

/** Compiled paths of the members to pick, created once by `compileMemberPaths`. */
export interface MemberPaths {
  readonly slots: ReadonlyMap<string, number>;
  readonly members: readonly WantedMember[];
  readonly maxMemberBytes: number;
}

/** The JSON texts of the wanted members of one object. */
export interface PickedMembers {
  /** Whether the object was complete; false for a truncated body or a body that is not a JSON object. */
  readonly closed: boolean;
  /** Returns the source text of a member; null if it is absent, too long or not a compiled path. */
  text(path: string): string | null;
  /** Returns the value of a member; undefined if it is absent or not valid JSON. */
  value(path: string): unknown;
  /** Returns the value of a member if it is a string of 1 to `MAX_NAME_CHARACTERS`, such as a model or an id; otherwise null. */
  string(path: string): string | null;
}

/** Compiles the paths of the members to pick, such as `usage` or `response.usage`. Do not pass both `a` and `a.b`. */
export function compileMemberPaths(
  paths: readonly string[],
  maxMemberBytes: number = DEFAULT_MAX_MEMBER_BYTES,
): MemberPaths {
  const slots = new Map<string, number>();
  for (const path of new Set(paths)) slots.set(path, slots.size);
  const encoder = new TextEncoder();
  const level = (prefix: string): WantedMember[] => {
    const below = [...slots.keys()].filter((path) => path.startsWith(prefix));
    const names = new Set(below.map((path) => path.slice(prefix.length).split(".", 1)[0] as string));
    return [...names].map((name) => {
      const slot = slots.get(prefix + name) ?? -1;
      const members = slot === -1 ? level(`${prefix}${name}.`) : [];
      return { name, bytes: encoder.encode(name), slot, members };
    });
  };
  return { slots, members: level(""), maxMemberBytes };
}

/** Reads one JSON object and keeps only the texts of the wanted members. Bytes may be split anywhere. */
export interface MemberPicker {
  push(bytes: Uint8Array): void;
  end(): PickedMembers;
}

/**
 * Creates a picker for one JSON object. It examines brackets and strings only, so that a body of any size takes one pass and
 * the memory of its wanted members. The last occurrence of a repeated member wins, as in `JSON.parse`. Never throws; a body
 * that is not an object has no members.
 */
export function createMemberPicker(paths: MemberPaths): MemberPicker {
  const state = createPickerState(paths);
  return { push: (bytes) => pushBytes(state, bytes), end: () => endObject(state) };
}

interface PickerState {
  readonly paths: MemberPaths;
  /** The texts of the picked members by slot. */
  readonly texts: (string | null)[];
  /** The wanted members of each open level. Its length is the depth of the innermost one. */
  readonly trail: (readonly WantedMember[])[];
  depth: number;
  phase: "before" | "inside" | "closed" | "broken";
  inString: boolean;
  /** Whether the previous push ended with a backslash that escapes the next byte. */
  escaping: boolean;
  isKey: boolean;
  afterColon: boolean;
  wanted: WantedMember | null;
  capturing: boolean;
  /** The start of the current key or value in this push; 0 if it started in an earlier push. */
  from: number;
  /** The bytes of a key or value from earlier pushes. Created on first use, which is rare. */
  store: ByteStore | null;
  tooLong: boolean;
}

function createPickerState(paths: MemberPaths): PickerState {
  return {
    paths,
    texts: new Array(paths.slots.size).fill(null),
    trail: [paths.members],
    depth: 0,
    phase: "before",
    inString: false,
    escaping: false,
    isKey: false,
    afterColon: false,
    wanted: null,
    capturing: false,
    from: 0,
    store: null,
    tooLong: false,
  };
}

function pushBytes(state: PickerState, bytes: Uint8Array): void {
  let rest = bytes;
  if (state.phase === "before") {
    let at = 0;
    while (at < bytes.length && isJsonSpace(bytes[at] as number)) at++;
    if (at === bytes.length) return;
    if (bytes[at] !== OPEN_BRACE) {
      state.phase = "broken";
      return;
    }
    state.phase = "inside";
    state.depth = 1;
    rest = bytes.subarray(at + 1);
  }
  if (state.phase !== "inside") return;
  state.from = 0;
  scan(state, rest);
  if (state.capturing || state.isKey) storePiece(state, rest, rest.length);
}

function endObject({ paths, texts, phase }: PickerState): PickedMembers {
  const text = (path: string) => texts[paths.slots.get(path) ?? -1] ?? null;
  return {
    closed: phase === "closed",
    text,
    value: (path) => parseJson(text(path)),
    string: (path) => asName(parseJson(text(path))),
  };
}

/** Scans bytes inside the object until they end or the object closes. */
function scan(state: PickerState, bytes: Uint8Array): void {
  const length = bytes.length;
  let at = 0;
  while (at < length) {
    if (state.inString) {
      const end = skipString(state, bytes, at);
      if (end === -1) return;
      state.inString = false;
      at = end;
      if (state.isKey) endKey(state, bytes, end - 1);
      continue;
    }
    switch (bytes[at]) {
      case QUOTE:
        startString(state, at);
        break;
      case OPEN_BRACE:
        openObject(state);
        break;
      case OPEN_BRACKET:
        state.depth++;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (closeBracket(state, bytes, at)) return;
        break;
      case COMMA:
        endMember(state, bytes, at);
        break;
      case COLON:
        startValue(state, at);
        break;
      default:
    }
    at++;
  }
}

/** Returns the index after the string's closing quote, or -1 if the push ends first. */
function skipString(state: PickerState, bytes: Uint8Array, start: number): number {
  let at = start;
  if (state.escaping) {
    state.escaping = false;
    at++;
  }
  const near = Math.min(bytes.length, at + LONG_STRING_BYTES);
  while (at < near) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    at += byte === BACKSLASH ? 2 : 1;
  }
  while (at < bytes.length) {
    const quote = bytes.indexOf(QUOTE, at);
    const end = quote === -1 ? bytes.length : quote;
    let slashes = 0;
    while (end - slashes > at && bytes[end - slashes - 1] === BACKSLASH) slashes++;
    if (quote === -1) {
      state.escaping = slashes % 2 === 1;
      return -1;
    }
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
  state.escaping = at > bytes.length;
  return -1;
}

function startString(state: PickerState, at: number): void {
  state.inString = true;
  if (state.depth === state.trail.length && !state.afterColon) {
    state.isKey = true;
    state.from = at + 1;
  }
}

function endKey(state: PickerState, bytes: Uint8Array, at: number): void {
  state.isKey = false;
  const key = takePiece(state, bytes, at);
  state.wanted =
    key === null ? null : findWanted(state.trail[state.depth - 1] as readonly WantedMember[], key);
}

function startValue(state: PickerState, at: number): void {
  if (state.depth !== state.trail.length || state.afterColon) return;
  state.afterColon = true;
  if (state.wanted !== null && state.wanted.slot >= 0) {
    state.capturing = true;
    state.from = at + 1;
  }
}

function endMember(state: PickerState, bytes: Uint8Array, at: number): void {
  if (state.depth !== state.trail.length) return;
  endCapture(state, bytes, at);
  state.afterColon = false;
  state.wanted = null;
}

function openObject(state: PickerState): void {
  const { wanted } = state;
  if (state.depth === state.trail.length && state.afterColon && wanted !== null && !state.capturing) {
    state.trail.push(wanted.members);
    state.wanted = null;
    state.afterColon = false;
  }
  state.depth++;
}

/** Closes an object or array. Returns whether it was the outermost one. */
function closeBracket(state: PickerState, bytes: Uint8Array, at: number): boolean {
  if (state.depth === state.trail.length) {
    endCapture(state, bytes, at);
    state.wanted = null;
    if (state.depth > 1) {
      state.trail.pop();
      // The value of the outer member ended; a comma or bracket follows.
      state.afterColon = true;
    }
  }
  state.depth--;
  if (state.depth > 0) return false;
  state.phase = "closed";
  return true;
}

function endCapture(state: PickerState, bytes: Uint8Array, at: number): void {
  if (!state.capturing) return;
  state.capturing = false;
  const view = takePiece(state, bytes, at);
  state.texts[(state.wanted as WantedMember).slot] = view === null ? null : decodeUtf8(view);
}

/** Stores the part of the current key or value that is in this push. */
function storePiece(state: PickerState, bytes: Uint8Array, to: number): void {
  const { from, paths } = state;
  if (state.tooLong || to <= from) return;
  state.store ??= createByteStore();
  if (state.store.length + to - from > paths.maxMemberBytes) {
    state.tooLong = true;
    state.store.clear();
  } else state.store.append(bytes, from, to);
}

/** Returns the current key or value up to `to`, copied only if it spans several pushes; null if it is too long. */
function takePiece(state: PickerState, bytes: Uint8Array, to: number): Uint8Array | null {
  const { from, store } = state;
  if (store === null || (store.length === 0 && !state.tooLong))
    return to - from > state.paths.maxMemberBytes ? null : bytes.subarray(from, to);
  storePiece(state, bytes, to);
  const view = state.tooLong ? null : store.view();
  store.clear();
  state.tooLong = false;
  return view;
}

/** Picks members from a complete object. */
export function pickMembers(bytes: Uint8Array, paths: MemberPaths): PickedMembers {
  const picker = createMemberPicker(paths);
  picker.push(bytes);
  return picker.end();
}

/** Returns the members below a path, addressed relative to it. */
export function membersUnder(message: PickedMembers, path: string): PickedMembers {
  const prefix = `${path}.`;
  return {
    closed: message.closed,
    text: (below) => message.text(prefix + below),
    value: (below) => message.value(prefix + below),
    string: (below) => message.string(prefix + below),
  };
}

/** Returns the members of a parsed value. */
export function pickedFromValue(value: unknown): PickedMembers {
  const find = (path: string): unknown => {
    let found: unknown = value;
    for (const name of path.split(".")) {
      const members = asObject(found);
      found = Object.getOwnPropertyDescriptor(members, name)?.value;
    }
    return found;
  };
  return {
    closed: true,
    text: (path) => jsonText(find(path)),
    value: find,
    string: (path) => asName(find(path)),
  };
}

/** Parses a JSON text. Returns undefined if it is null or not valid JSON. */
export function parseJson(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Serialises a value as JSON. Returns null if it has no JSON text or nests too deeply to be serialised. */
export function jsonText(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch {
    return null;
  }
}

function asName(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= MAX_NAME_CHARACTERS ? value : null;
}

function findWanted(members: readonly WantedMember[], key: Uint8Array): WantedMember | null {
  for (const member of members) if (equalBytes(member.bytes, key)) return member;
  if (!key.includes(BACKSLASH)) return null;
  // JSON allows escapes in keys, although no provider uses them.
  const name = parseJson(`"${decodeUtf8(key)}"`);
  return members.find((member) => member.name === name) ?? null;
}

function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}
