import { jsonText } from "./member-picker.ts";
import { isObject } from "./token-counts.ts";

/** Most bytes of unknown usage that a record keeps: enough to compute anew, too little to hurt. */
export const MAX_UNKNOWN_USAGE_BYTES = 2048;

/** The usage members that a reader knows: `true`, or the known members of an object. */
export interface KnownMembers {
  readonly [name: string]: true | KnownMembers;
}

/**
 * The members of a usage object that its reader does not know, as a JSON object, so that a later version can compute
 * with them; null when there are none. Nothings (null, 0, false, "", empty arrays and objects) are left out, and so is each
 * member with which the text would exceed `MAX_UNKNOWN_USAGE_BYTES`.
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
    const value = rule === undefined ? something(usage[name]) : unknownObject(usage[name], rule);
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

function something(value: unknown): unknown {
  if (value === 0 || value === false || value === "") return null;
  if (typeof value === "object" && value !== null && Object.keys(value).length === 0) return null;
  return value ?? null;
}
