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

/** The file's text, or why it was not read. */
type SmallFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: SmallFileProblem };

/** The conditions under which a file is read. */
export interface SmallFileRules {
  readonly maxBytes: number;
  /** Requires that no other user can read the file, and that it has no other hard link. */
  readonly secret?: boolean;
}

// Windows has neither. Non-blocking, because opening a named pipe would wait for its writer.
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const REASONS: Readonly<Record<string, SmallFileProblem>> = {
  ENOENT: "absent",
  ENOTDIR: "absent",
  ELOOP: "symlink",
  EISDIR: "not_a_file",
  ENXIO: "not_a_file",
};

/** Whether a file's owner is trusted: root or this user. On platforms without users, every owner is trusted. */
function isTrustedOwner(uid: number): boolean {
  const own = process.getuid?.();
  return own === undefined || uid === own || uid === 0;
}

async function readChecked(file: FileHandle, rules: SmallFileRules): Promise<SmallFile> {
  const stat = await file.stat();
  if (!stat.isFile()) return { ok: false, reason: "not_a_file" };
  if (!isTrustedOwner(stat.uid)) return { ok: false, reason: "foreign_owner" };
  if (rules.secret && process.platform !== "win32") {
    if ((stat.mode & 0o077) !== 0) return { ok: false, reason: "open_to_others" };
    if (stat.nlink > 1) return { ok: false, reason: "hard_linked" };
  }
  const bytes = await readUpTo(file, stat.size, rules.maxBytes);
  if (bytes === null) return { ok: false, reason: "too_large" };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? { ok: false, reason: "not_text" } : { ok: true, text };
  } catch {
    return { ok: false, reason: "not_text" };
  }
}

/** The first size of the buffer of a file that states no size, in bytes. */
const FIRST_BYTES = 4_096;

/** Reads a file to its end; null if it has more than `maxBytes`. Its size is a hint: a file may grow, and some in `/proc` state none. */
async function readUpTo(file: FileHandle, size: number, maxBytes: number): Promise<Buffer | null> {
  let bytes = Buffer.alloc(Math.min(Math.max(size, FIRST_BYTES), maxBytes) + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, null);
    if (bytesRead === 0) return bytes.subarray(0, length);
    length += bytesRead;
    if (length > maxBytes) return null;
    if (length === bytes.length) bytes = Buffer.concat([bytes], Math.min(2 * length, maxBytes + 1));
  }
}

/**
 * Reads a small text file that another user may have created. Does not follow symbolic links, does not wait for pipes and
 * devices, does not trust other users' files, and reads at most `maxBytes`. Never rejects.
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
