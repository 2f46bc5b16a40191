import { lstatSync } from "node:fs";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { readSmallFile } from "../../../adapters/files/read-small-file.ts";
import { writeFileAtomic } from "../../../adapters/files/write-file-atomic.ts";
import type { Clock } from "../../../core/ports/clock.ts";

/** How often the files are checked, in milliseconds. `meter stop` may wait this long. */
const CHECK_MS = 2_000;

/** A file that must have this text while the daemon runs. */
export interface KeptFile {
  readonly path: string;
  readonly text: string;
  /** Whether it was written before, so that it is only checked. */
  readonly isWritten?: boolean;
}

/** What `keepFiles()` needs. */
export interface KeepFilesPorts {
  /** Whether the home is still this daemon's. If not, nothing is written. */
  readonly isOwnHome: () => Promise<boolean>;
  readonly report: (warning: string) => void;
  readonly clock?: Clock;
}

/**
 * Writes the files by which commands find this daemon, and writes them again if they were deleted or changed, or could not be
 * written, as on a full disk. Returns a function that ends this; the files stay.
 */
export function keepFiles(
  files: readonly KeptFile[],
  { isOwnHome, report, clock = systemClock }: KeepFilesPorts,
): () => void {
  const written = new Map<string, string | null>();
  const reported = new Set<string>();
  let cancel: (() => void) | null = () => {};
  const write = ({ path, text }: KeptFile) => {
    try {
      writeFileAtomic(path, text, { mode: 0o600 });
      written.set(path, describeFile(path));
    } catch (cause) {
      if (!reported.has(path))
        report(
          `Commands can't find this daemon because ${path} can't be written: ${(cause as Error).message}.`,
        );
      reported.add(path);
    }
  };
  const check = async () => {
    const changed = files.filter(({ path }) => written.get(path) !== (describeFile(path) ?? ""));
    if (changed.length > 0 && (await isOwnHome()))
      for (const file of changed) {
        const isSame = await hasText(file);
        if (cancel === null) return;
        if (isSame) written.set(file.path, describeFile(file.path));
        else write(file);
      }
    if (cancel !== null) cancel = clock.setTimer(CHECK_MS, () => void check());
  };
  for (const file of files) if (file.isWritten !== true) write(file);
  cancel = clock.setTimer(CHECK_MS, () => void check());
  return () => {
    cancel?.();
    cancel = null;
  };
}

/** Returns a text that changes when the file is replaced or written to; null if there is none. */
function describeFile(path: string): string | null {
  try {
    const { ino, size, mtimeMs } = lstatSync(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return null;
  }
}

async function hasText({ path, text }: KeptFile): Promise<boolean> {
  const file = await readSmallFile(path, { maxBytes: text.length });
  return file.ok && file.text === text;
}
