import { type ByteStore, createByteStore } from "../exchange/byte-store.ts";
import { decodeUtf8 } from "../exchange/bytes.ts";
import { membersOf } from "./token-counts.ts";

/** The bytes that JSON turns on. */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

/**
 * A wanted member longer than this many bytes is passed over: usage objects are a few hundred bytes, error objects a few
 * thousand. It bounds the memory that a hostile answer can take.
 */
export const DEFAULT_MAX_MEMBER_BYTES = 64 * 1024;

/** From here on a string is searched by the engine's own loop, whose call costs about as much as this many steps. */
const LONG_STRING_BYTES = 48;

interface WantedMember {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Where its text is kept, or -1 where only members of it are wanted. */
  readonly slot: number;
  readonly members: readonly WantedMember[];
}

/** The members of a JSON object that somebody wants, made once by `wantMembers`. */
export interface MemberPaths {
  readonly slots: ReadonlyMap<string, number>;
  readonly members: readonly WantedMember[];
  readonly maxMemberBytes: number;
}

/** The JSON texts of the wanted members of one object. */
export interface PickedMembers {
  /** Whether the object was closed; false for a body that was cut, or that is no JSON object. */
  readonly closed: boolean;
  /** The source text of the member, or null when it is absent, too long or not a path that was asked for. */
  text(path: string): string | null;
  /** The member's value; undefined when it is absent or no JSON. */
  value(path: string): unknown;
  /** The member's value when it is a string that is not empty, else null. */
  string(path: string): string | null;
}

/** Names the members to pick: `usage`, or `response.usage` for a member of a member, and so on. Not both `a` and `a.b`. */
export function wantMembers(
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

/** Reads one JSON object, cut anywhere, and keeps the texts of the wanted members alone. */
export interface MemberPicker {
  push(bytes: Uint8Array): void;
  end(): PickedMembers;
}

/**
 * Creates a picker for one JSON object. It looks at brackets and strings only and does not check the rest of the
 * grammar, so that a body of any size costs one pass and the memory of its wanted members; a member given twice counts
 * as last given, as in `JSON.parse`. It never throws: what is no object just yields nothing.
 */
export function createMemberPicker(paths: MemberPaths): MemberPicker {
  const texts: (string | null)[] = new Array(paths.slots.size).fill(null);
  /** The wanted members at each level that is looked into; its length is the depth of that level. */
  const trail: (readonly WantedMember[])[] = [paths.members];
  let depth = 0;
  let state: "before" | "inside" | "closed" | "broken" = "before";
  let inString = false;
  /** Whether the byte before the cut was a backslash that escapes the next one. */
  let escaping = false;
  let isKey = false;
  let afterColon = false;
  let wanted: WantedMember | null = null;
  let capturing = false;
  /** Where the key or value that is being kept begins in this push; 0 when it began in an earlier one. */
  let from = 0;
  /** What a cut left of it; made when the first cut goes through a key or value, which is rare. */
  let store: ByteStore | null = null;
  let tooLong = false;

  const keep = (bytes: Uint8Array, to: number) => {
    if (tooLong || to <= from) return;
    store ??= createByteStore();
    if (store.length + to - from > paths.maxMemberBytes) {
      tooLong = true;
      store.clear();
    } else store.append(bytes, from, to);
  };

  /** The kept bytes up to `to`, without a copy where no cut lies between; null when there were too many. */
  const kept = (bytes: Uint8Array, to: number): Uint8Array | null => {
    if (store === null || (store.length === 0 && !tooLong))
      return to - from > paths.maxMemberBytes ? null : bytes.subarray(from, to);
    keep(bytes, to);
    const view = tooLong ? null : store.view();
    store.clear();
    tooLong = false;
    return view;
  };

  const endCapture = (bytes: Uint8Array, at: number) => {
    if (!capturing) return;
    capturing = false;
    const view = kept(bytes, at);
    texts[(wanted as WantedMember).slot] = view === null ? null : decodeUtf8(view);
  };

  /** Where the string that holds `at` ends: the index after its closing quote, or -1 when the push ends before. */
  const skipString = (bytes: Uint8Array, start: number): number => {
    let at = start;
    if (escaping) {
      escaping = false;
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
        escaping = slashes % 2 === 1;
        return -1;
      }
      if (slashes % 2 === 0) return quote + 1;
      at = quote + 1;
    }
    escaping = at > bytes.length;
    return -1;
  };

  const scan = (bytes: Uint8Array) => {
    const length = bytes.length;
    let at = 0;
    while (at < length) {
      if (inString) {
        const end = skipString(bytes, at);
        if (end === -1) return;
        inString = false;
        at = end;
        if (isKey) {
          isKey = false;
          const key = kept(bytes, end - 1);
          wanted = key === null ? null : findWanted(trail[depth - 1] as readonly WantedMember[], key);
        }
        continue;
      }
      const byte = bytes[at];
      switch (byte) {
        case QUOTE:
          inString = true;
          if (depth === trail.length && !afterColon) {
            isKey = true;
            from = at + 1;
          }
          break;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          if (byte === OPEN_BRACE && depth === trail.length && afterColon && wanted !== null && !capturing) {
            trail.push(wanted.members);
            wanted = null;
            afterColon = false;
          }
          depth++;
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          if (depth === trail.length) {
            endCapture(bytes, at);
            wanted = null;
            if (depth > 1) {
              trail.pop();
              // Back behind the value of the outer member: the next thing to come is a comma.
              afterColon = true;
            }
          }
          depth--;
          if (depth === 0) {
            state = "closed";
            return;
          }
          break;
        case COMMA:
          if (depth === trail.length) {
            endCapture(bytes, at);
            afterColon = false;
            wanted = null;
          }
          break;
        case COLON:
          if (depth === trail.length && !afterColon) {
            afterColon = true;
            if (wanted !== null && wanted.slot >= 0) {
              capturing = true;
              from = at + 1;
            }
          }
          break;
        default:
      }
      at++;
    }
  };

  return {
    push(bytes) {
      let rest = bytes;
      if (state === "before") {
        let at = 0;
        while (at < bytes.length && isBlank(bytes[at] as number)) at++;
        if (at === bytes.length) return;
        if (bytes[at] !== OPEN_BRACE) {
          state = "broken";
          return;
        }
        state = "inside";
        depth = 1;
        rest = bytes.subarray(at + 1);
      }
      if (state !== "inside") return;
      from = 0;
      scan(rest);
      if (capturing || isKey) keep(rest, rest.length);
    },
    end() {
      const text = (path: string) => texts[paths.slots.get(path) ?? -1] ?? null;
      return {
        closed: state === "closed",
        text,
        value: (path) => parseJson(text(path)),
        string: (path) => nonEmptyString(parseJson(text(path))),
      };
    },
  };
}

/** Picks from an object that is there whole. */
export function pickMembers(bytes: Uint8Array, paths: MemberPaths): PickedMembers {
  const picker = createMemberPicker(paths);
  picker.push(bytes);
  return picker.end();
}

/** The members of a member, as if it had been picked from by itself. */
export function membersBelow(message: PickedMembers, path: string): PickedMembers {
  const prefix = `${path}.`;
  return {
    closed: message.closed,
    text: (below) => message.text(prefix + below),
    value: (below) => message.value(prefix + below),
    string: (below) => message.string(prefix + below),
  };
}

/** The members of a value that was parsed already. */
export function membersOfValue(value: unknown): PickedMembers {
  const find = (path: string): unknown => {
    let found: unknown = value;
    for (const name of path.split(".")) {
      const members = membersOf(found);
      found = Object.getOwnPropertyDescriptor(members, name)?.value;
    }
    return found;
  };
  return {
    closed: true,
    text: (path) => jsonText(find(path)),
    value: find,
    string: (path) => nonEmptyString(find(path)),
  };
}

/** A JSON text's value, or undefined when the text is null or no JSON. */
export function parseJson(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A value's JSON text; null where it has none, or is nested so deeply that it could be read and can't be written. */
export function jsonText(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch {
    return null;
  }
}

function nonEmptyString(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function findWanted(members: readonly WantedMember[], key: Uint8Array): WantedMember | null {
  for (const member of members) if (equalBytes(member.bytes, key)) return member;
  if (!key.includes(BACKSLASH)) return null;
  // No provider escapes a key, but JSON allows it.
  const name = parseJson(`"${decodeUtf8(key)}"`);
  return members.find((member) => member.name === name) ?? null;
}

function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}
