import { Buffer } from "node:buffer";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Millis } from "../../core/values/time.ts";

/** The kinds of canaries: a credential, or text that a person wrote. */
export type CanaryKind = "secret" | "text";

/** Each canary begins with the mark of its kind, so that one search of a file finds all of them. */
const MARKS: Readonly<Record<CanaryKind, string>> = { secret: "cnrys7x", text: "cnryt7x" };

/** The beginning of both marks. Only bytes that have it are searched for the marks. */
const BEGINNING = "cnry";

/** A canary, which its kind and number identify wherever it is found. */
export function canary(kind: CanaryKind, number: number): string {
  return `${MARKS[kind]}${String.fromCharCode(97 + Math.floor(number / 26), 97 + (number % 26))}q`;
}

/** A canary that was found where it must not be. */
export interface Find {
  readonly kind: CanaryKind;
  readonly place: string;
  /** The form in which it was written there. */
  readonly form: string;
  /** The text around it. */
  readonly context: string;
}

interface Needle {
  readonly form: string;
  readonly bytes: Buffer;
  /** For forms in which upper and lower case are the same letter. */
  readonly foldsCase: boolean;
}

/** The mark in base64 at one of three alignments, without the characters that its neighbours decide. */
function inBase64(mark: string, alignment: number, encoding: "base64" | "base64url"): string {
  const text = Buffer.concat([Buffer.alloc(alignment), Buffer.from(mark)]).toString(encoding);
  const bits = (alignment + mark.length) * 8;
  return text.slice(Math.ceil((alignment * 8) / 6), Math.floor(bits / 6));
}

function needlesOf(mark: string): Needle[] {
  const codes = [...mark].map((letter) => letter.charCodeAt(0).toString(16));
  const plain = (form: string, text: string): Needle => ({ form, bytes: Buffer.from(text), foldsCase: true });
  return [
    plain("as it is", mark),
    plain("in hex", codes.join("")),
    plain("JSON-escaped", codes.map((code) => `\\u00${code}`).join("")),
    plain("percent-encoded", codes.map((code) => `%${code}`).join("")),
    { form: "in UTF-16", bytes: Buffer.from(mark, "utf16le"), foldsCase: true },
    ...[0, 1, 2].flatMap((alignment) =>
      [mark, mark.toUpperCase()].map((letters) => ({
        form: "in base64",
        bytes: Buffer.from(inBase64(letters, alignment, "base64")),
        foldsCase: false,
      })),
    ),
  ];
}

const BEGINNINGS = needlesOf(BEGINNING);
const NEEDLES = Object.entries(MARKS).map(([kind, mark]) => [kind as CanaryKind, needlesOf(mark)] as const);

/** Finds canaries of any number in bytes, in every known form. Returns the first of each form. */
export function findCanaries(place: string, searched: Uint8Array): Find[] {
  const haystack = Buffer.from(searched.buffer, searched.byteOffset, searched.byteLength);
  const folded = Buffer.from(haystack);
  for (let at = 0; at < folded.length; at += 1) {
    const byte = folded[at] as number;
    if (byte >= 65 && byte <= 90) folded[at] = byte + 32;
  }
  const positionOf = ({ bytes: needle, foldsCase }: Needle) =>
    (foldsCase ? folded : haystack).indexOf(needle);
  if (BEGINNINGS.every((needle) => positionOf(needle) < 0)) return [];
  return NEEDLES.flatMap(([kind, needles]) =>
    needles.flatMap((needle) => {
      const { form, bytes } = needle;
      const at = positionOf(needle);
      if (at < 0) return [];
      const around = haystack.subarray(Math.max(0, at - 60), at + bytes.length + 40).toString("latin1");
      return [{ kind, place, form, context: around.replaceAll(/[^\x20-\x7e]/g, ".") }];
    }),
  );
}

/** Lists the files below a folder that are not empty and were written at or after a time. Those of a new database are older. */
export function filesIn(folder: string, since: Millis = 0): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      const stats = statSync(file, { throwIfNoEntry: false });
      return stats !== undefined && stats.size > 0 && stats.mtimeMs >= since;
    });
}

/** Searches every file below a folder that was written at or after a time. */
export function findInFolder(
  folder: string,
  since: Millis = 0,
  isSearched: (file: string) => boolean = () => true,
): Find[] {
  return filesIn(folder, since).flatMap((file) => {
    try {
      return isSearched(file) ? findCanaries(file, readFileSync(file)) : [];
    } catch (cause) {
      // A running server removes its own files.
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw cause;
    }
  });
}

/** Searches a process's command line and variables, if the system shows them. */
export function findInProcess(name: string, pid: number): Find[] {
  return ["cmdline", "environ"].flatMap((file) => {
    try {
      return findCanaries(`${file} of ${name}`, readFileSync(`/proc/${pid}/${file}`));
    } catch {
      return [];
    }
  });
}
