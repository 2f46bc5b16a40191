/** A member to insert into a JSON file. */
export interface JsonMember {
  readonly name: string;
  /** JSON text. */
  readonly value: string;
}

/** The edited text, or why the file can't be edited. */
export type MemberEdit =
  | { readonly ok: true; readonly text: string; readonly inserted: string }
  | { readonly ok: false; readonly reason: "no_object" | "other_value" };

/** Reads a JSON object; null if the text is something else. */
function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** Whether the text is this JSON object. An empty one may also be a text of blanks, as before `insertMember()`. */
function holds(text: string, object: object): boolean {
  const found = text.trim() === "" ? {} : readObject(text);
  return JSON.stringify(found) === JSON.stringify(object);
}

const isSameJson = (one: unknown, text: string): boolean =>
  JSON.stringify(one) === JSON.stringify(JSON.parse(text));

/** Whether the text is a JSON object with this member. */
export function hasMember(text: string, { name, value }: JsonMember): boolean {
  const object = readObject(text);
  return object !== null && Object.hasOwn(object, name) && isSameJson(object[name], value);
}

/**
 * Inserts a member as the first one of a JSON object; a text of blanks becomes an object. All other bytes stay. A member of this name with
 * another value is not replaced.
 */
export function insertMember(text: string, member: JsonMember): MemberEdit {
  const { name, value } = member;
  const line = `\n  ${JSON.stringify(name)}: ${value}`;
  if (text.trim() === "") {
    const inserted = `{${line}\n}\n`;
    return { ok: true, text: text + inserted, inserted };
  }
  const object = readObject(text);
  if (object === null) return { ok: false, reason: "no_object" };
  if (hasMember(text, member)) return { ok: true, text, inserted: "" };
  if (Object.hasOwn(object, name)) return { ok: false, reason: "other_value" };
  const inserted = Object.keys(object).length === 0 ? `${line}\n` : `${line},`;
  const at = text.indexOf("{") + 1;
  return { ok: true, text: text.slice(0, at) + inserted + text.slice(at), inserted };
}

/**
 * Removes what `insertMember()` inserted, so that the text has its original bytes. If another program has written the file since, the
 * member is removed from its JSON, which is formatted as JSON.stringify does. A member with another value stays.
 */
export function removeMember(text: string, member: JsonMember, inserted: string): MemberEdit {
  const object = readObject(text);
  if (object === null) return { ok: false, reason: "no_object" };
  if (!Object.hasOwn(object, member.name)) return { ok: true, text, inserted: "" };
  if (!hasMember(text, member)) return { ok: false, reason: "other_value" };
  // The user's own.
  if (inserted === "") return { ok: true, text, inserted };
  delete object[member.name];
  const at = text.indexOf(inserted);
  const rest = at === -1 ? null : text.slice(0, at) + text.slice(at + inserted.length);
  if (rest !== null && holds(rest, object)) return { ok: true, text: rest, inserted };
  const end = text.endsWith("\n") ? "\n" : "";
  return { ok: true, text: JSON.stringify(object, null, 2) + end, inserted };
}
