import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "../../values/text/json-bytes.ts";
import {
  createMemberPicker,
  type MemberPaths,
  type MemberPicker,
  type PickedMembers,
} from "./member-picker.ts";

/** An array of a JSON object whose elements are picked from one by one. */
export interface ElementPaths {
  /** The member name of the array. */
  readonly array: string;
  /** The members to pick from each element that is an object. */
  readonly members: MemberPaths;
}

/**
 * Creates a picker for one JSON object that also picks members from each object in one of its arrays, and reports them when
 * that object ends. Bytes may be split anywhere. Neither the array nor its elements are buffered, so a response with
 * megabytes of numbers or images takes only the memory of the picked members. Never throws. An array whose name contains
 * escapes is not found.
 */
export function createElementPicker(
  outer: MemberPaths,
  { array, members }: ElementPaths,
  onElement: (element: PickedMembers) => void,
): MemberPicker {
  const state: ElementPickerState = {
    members,
    onElement,
    name: new TextEncoder().encode(array),
    rest: createMemberPicker(outer),
    element: null,
    from: 0,
    depth: 0,
    inString: false,
    isEscaped: false,
    afterColon: false,
    matchedBytes: -1,
    isArrayNext: false,
    inArray: false,
  };
  return { push: (bytes) => pushBytes(state, bytes), end: state.rest.end };
}

interface ElementPickerState {
  readonly members: MemberPaths;
  readonly onElement: (element: PickedMembers) => void;
  readonly name: Uint8Array;
  /** Picks from the object without the elements. */
  readonly rest: MemberPicker;
  /** Picks from the current element; null between elements. */
  element: MemberPicker | null;
  /** Where the part of this push starts that has not been passed on. */
  from: number;
  depth: number;
  inString: boolean;
  isEscaped: boolean;
  /** Whether a value follows, not a name. */
  afterColon: boolean;
  /** The number of bytes of the name that the current key has matched; -1 if it differs. */
  matchedBytes: number;
  isArrayNext: boolean;
  inArray: boolean;
}

function pushBytes(state: ElementPickerState, bytes: Uint8Array): void {
  state.from = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (state.inString) {
      readStringByte(state, byte);
      continue;
    }
    switch (byte) {
      case QUOTE:
        state.inString = true;
        if (state.depth === 1 && !state.afterColon) state.matchedBytes = 0;
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        openBracket(state, bytes, at);
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        closeBracket(state, bytes, at);
        break;
      case COLON:
        state.afterColon ||= state.depth === 1;
        break;
      case COMMA:
        if (state.depth === 1) {
          state.afterColon = false;
          state.isArrayNext = false;
        }
        break;
      default:
    }
  }
  (state.element ?? state.rest).push(bytes.subarray(state.from));
}

function readStringByte(state: ElementPickerState, byte: number): void {
  const { matchedBytes, name } = state;
  if (state.isEscaped) state.isEscaped = false;
  else if (byte === BACKSLASH) {
    state.isEscaped = true;
    state.matchedBytes = -1;
  } else if (byte === QUOTE) {
    state.inString = false;
    state.isArrayNext ||= matchedBytes === name.length;
    state.matchedBytes = -1;
  } else if (matchedBytes >= 0) state.matchedBytes = byte === name[matchedBytes] ? matchedBytes + 1 : -1;
}

function openBracket(state: ElementPickerState, bytes: Uint8Array, at: number): void {
  if (state.depth === 1) state.inArray = state.isArrayNext && bytes[at] === OPEN_BRACKET;
  else if (state.depth === 2 && state.inArray && bytes[at] === OPEN_BRACE) {
    state.rest.push(bytes.subarray(state.from, at));
    state.element = createMemberPicker(state.members);
    state.from = at;
  }
  state.depth++;
}

function closeBracket(state: ElementPickerState, bytes: Uint8Array, at: number): void {
  state.depth--;
  if (state.element === null || state.depth !== 2) return;
  state.element.push(bytes.subarray(state.from, at + 1));
  state.onElement(state.element.end());
  state.element = null;
  state.from = at + 1;
}
