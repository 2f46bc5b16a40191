import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  createMemberPicker,
  type MemberPaths,
  type MemberPicker,
  OPEN_BRACE,
  OPEN_BRACKET,
  type PickedMembers,
  QUOTE,
} from "./member-picker.ts";

/** The array of a JSON object whose elements are looked into one by one. */
export interface ElementPaths {
  /** The array's name among the members of the object. */
  readonly array: string;
  /** What is wanted of each element that is an object. */
  readonly members: MemberPaths;
}

/**
 * Creates a picker for one JSON object, cut anywhere, that also hands on the wanted members of each object in one of its
 * arrays, as soon as that object is closed. Neither the array nor an element is kept: an answer with megabytes of numbers
 * or of images costs the memory of its wanted members. It never throws, and an array under an escaped name is not found.
 */
export function createElementPicker(
  outer: MemberPaths,
  { array, members }: ElementPaths,
  onElement: (element: PickedMembers) => void,
): MemberPicker {
  /** Picks from the object without the elements that are looked into. */
  const rest = createMemberPicker(outer);
  const name = new TextEncoder().encode(array);
  let element: MemberPicker | null = null;
  let depth = 0;
  let inString = false;
  let isEscaped = false;
  /** Whether a member's value follows, and not its name. */
  let afterColon = false;
  /** How many bytes of the name the key at hand agrees with so far; -1 once it does not. */
  let agreeing = -1;
  let isArrayNext = false;
  let inArray = false;

  const openBracket = (byte: number) => {
    if (depth === 1) inArray = isArrayNext && byte === OPEN_BRACKET;
    depth++;
  };

  return {
    push(bytes) {
      let from = 0;
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at];
        if (inString) {
          if (isEscaped) isEscaped = false;
          else if (byte === BACKSLASH) {
            isEscaped = true;
            agreeing = -1;
          } else if (byte === QUOTE) {
            inString = false;
            isArrayNext ||= agreeing === name.length;
            agreeing = -1;
          } else if (agreeing >= 0) agreeing = byte === name[agreeing] ? agreeing + 1 : -1;
          continue;
        }
        switch (byte) {
          case QUOTE:
            inString = true;
            if (depth === 1 && !afterColon) agreeing = 0;
            break;
          case OPEN_BRACE:
            if (inArray && depth === 2) {
              rest.push(bytes.subarray(from, at));
              element = createMemberPicker(members);
              from = at;
            }
            openBracket(byte);
            break;
          case OPEN_BRACKET:
            openBracket(byte);
            break;
          case CLOSE_BRACE:
          case CLOSE_BRACKET:
            depth--;
            if (element !== null && depth === 2) {
              element.push(bytes.subarray(from, at + 1));
              onElement(element.end());
              element = null;
              from = at + 1;
            }
            break;
          case COLON:
            afterColon ||= depth === 1;
            break;
          case COMMA:
            if (depth === 1) {
              afterColon = false;
              isArrayNext = false;
            }
            break;
          default:
        }
      }
      (element ?? rest).push(bytes.subarray(from));
    },
    end: rest.end,
  };
}
