import { isObject } from "../../values/json-object.ts";
import { jsonText } from "./member-picker.ts";

/** Maximum size of the unknown usage in a record, in bytes. */
export const MAX_UNKNOWN_USAGE_BYTES = 2048;

/** The usage members that a reader supports: `true`, or the supported members of a nested object. */
export interface KnownMembers {
  readonly [name: string]: true | KnownMembers;
}

/**
 * Returns the members of a usage object that its reader does not support, as a JSON object, so that a later version can use
 * them; null if there are none. Empty values (null, 0, false, "", empty arrays and objects) are omitted, and so is every
 * member that would make the text exceed `MAX_UNKNOWN_USAGE_BYTES`.
 */
export function unknownUsage(usage: unknown, known: KnownMembers): string | null {
  const unknown = unknownMembers(usage, known);
  if (unknown === null) return null;
  const encoder = new TextEncoder();
  const fitting: [name: string, value: unknown][] = [];
  let bytes = 2;
  for (const [name, value] of unknown) {
    const text = jsonText(value);
    if (text === null) continue;
    const size = encoder.encode(`${JSON.stringify(name)}:${text},`).length;
    if (bytes + size > MAX_UNKNOWN_USAGE_BYTES) continue;
    bytes += size;
    fitting.push([name, value]);
  }
  return fitting.length === 0 ? null : JSON.stringify(Object.fromEntries(fitting));
}

function unknownMembers(
  usage: unknown,
  known: KnownMembers,
): readonly (readonly [name: string, value: unknown])[] | null {
  if (!isObject(usage)) return null;
  let found: [string, unknown][] | null = null;
  for (const name of Object.keys(usage)) {
    const rule = Object.hasOwn(known, name) ? known[name] : undefined;
    if (rule === true) continue;
    const value = rule === undefined ? nullIfEmpty(usage[name]) : unknownObject(usage[name], rule);
    if (value === null) continue;
    found ??= [];
    found.push([name, value]);
  }
  return found;
}

function unknownObject(value: unknown, known: KnownMembers): unknown {
  const members = unknownMembers(value, known);
  return members === null ? null : Object.fromEntries(members);
}

function nullIfEmpty(value: unknown): unknown {
  if (value === 0 || value === false || value === "") return null;
  if (typeof value === "object" && value !== null && Object.keys(value).length === 0) return null;
  return value ?? null;
}
