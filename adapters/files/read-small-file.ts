import { Buffer } from "node:buffer";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Why a file was not read. */
export type SmallFileProblem =
  | "absent"
  | "symlink"
  | "not_a_file"
  | "too_large"
  | "not_text"
  | "foreign_owner"
  | "open_to_others"
  | "hard_linked"
  | "unreadable";

/** The file's text, or why there is none. */
export type SmallFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: SmallFileProblem };

export interface SmallFileRules {
  readonly maxBytes: number;
  /** Asks that nobody else can read the file and that it has one name alone. */
  readonly secret?: boolean;
}

// Windows has neither. Not blocking: to open a named pipe would wait for its writer.
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const REASONS: Readonly<Record<string, SmallFileProblem>> = {
  ENOENT: "absent",
  ENOTDIR: "absent",
  ELOOP: "symlink",
  EISDIR: "not_a_file",
  ENXIO: "not_a_file",
};

/** Root may own anything; where the platform has no users, everything is ours. */
function isOurs(uid: number): boolean {
  const own = process.getuid?.();
  return own === undefined || uid === own || uid === 0;
}

async function readChecked(file: FileHandle, rules: SmallFileRules): Promise<SmallFile> {
  const stat = await file.stat();
  if (!stat.isFile()) return { ok: false, reason: "not_a_file" };
  if (!isOurs(stat.uid)) return { ok: false, reason: "foreign_owner" };
  if (rules.secret && process.platform !== "win32") {
    if ((stat.mode & 0o077) !== 0) return { ok: false, reason: "open_to_others" };
    if (stat.nlink > 1) return { ok: false, reason: "hard_linked" };
  }
  // One byte more than allowed: a file may grow, and some of `/proc` has no size at all.
  const bytes = Buffer.alloc(rules.maxBytes + 1);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, null);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  if (length > rules.maxBytes) return { ok: false, reason: "too_large" };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length));
    return text.includes("\0") ? { ok: false, reason: "not_text" } : { ok: true, text };
  } catch {
    return { ok: false, reason: "not_text" };
  }
}

/**
 * Reads a small text file that somebody else may have put there: symbolic links are not followed, pipes and devices not
 * opened for long, other users' files not believed, and no more than `maxBytes` read. Never rejects.
 */
export async function readSmallFile(path: string, rules: SmallFileRules): Promise<SmallFile> {
  let file: FileHandle;
  try {
    file = await open(path, FLAGS);
  } catch (cause) {
    return { ok: false, reason: REASONS[(cause as NodeJS.ErrnoException).code ?? ""] ?? "unreadable" };
  }
  try {
    return await readChecked(file, rules);
  } catch (cause) {
    return { ok: false, reason: REASONS[(cause as NodeJS.ErrnoException).code ?? ""] ?? "unreadable" };
  } finally {
    await file.close().catch(() => {});
  }
}
