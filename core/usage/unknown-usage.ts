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
  const fitting: Record<string, unknown> = {};
  let bytes = 2;
  for (const [name, value] of Object.entries(unknown)) {
    const size = encoder.encode(`${JSON.stringify(name)}:${JSON.stringify(value)},`).length;
    if (bytes + size > MAX_UNKNOWN_USAGE_BYTES) continue;
    bytes += size;
    fitting[name] = value;
  }
  return bytes === 2 ? null : JSON.stringify(fitting);
}

function unknownMembers(usage: unknown, known: KnownMembers): Record<string, unknown> | null {
  if (!isObject(usage)) return null;
  let found: Record<string, unknown> | null = null;
  for (const name of Object.keys(usage)) {
    const rule = Object.hasOwn(known, name) ? known[name] : undefined;
    if (rule === true) continue;
    const value = rule === undefined ? something(usage[name]) : unknownMembers(usage[name], rule);
    if (value === null) continue;
    // A null prototype takes any name, `__proto__` too, as a plain member.
    found ??= Object.create(null) as Record<string, unknown>;
    found[name] = value;
  }
  return found;
}

function something(value: unknown): unknown {
  if (value === 0 || value === false || value === "") return null;
  if (typeof value === "object" && value !== null && Object.keys(value).length === 0) return null;
  return value ?? null;
}
