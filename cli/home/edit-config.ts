import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { editToml, type TomlEdit, type TomlScalar } from "../../adapters/files/edit-toml.ts";
import { readSmallFile } from "../../adapters/files/read-small-file.ts";
import { writeFileAtomic } from "../../adapters/files/write-file-atomic.ts";
import { type ExclusiveLock, waitForLock } from "../../adapters/lock/exclusive-lock.ts";
import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import { describeUnreadable } from "../render/unreadable.ts";
import { configFile } from "./config-file.ts";
import { prepareHome } from "./prepare-home.ts";
import { MAX_CONFIG_BYTES } from "./read-config.ts";

/** A new value for one setting; the path is the names of its tables and its key. */
export interface ConfigChange {
  readonly path: readonly string[];
  readonly value: TomlScalar;
}

/** How long to wait for another writer, in milliseconds. */
const LOCK_TIMEOUT_MS = 30_000;

const BYTE_ORDER_MARK = "\ufeff";

/**
 * Sets keys of `config.toml` atomically and keeps every other byte. Concurrent readers see the old file or the new one, and
 * concurrent writers take turns. A symbolic link stays a link and the file keeps its mode; a new file has mode 0600.
 */
export async function editConfig(home: string, changes: readonly ConfigChange[]): Promise<void> {
  const edits = changes.map(({ path, value }) => ({
    name: path.join("."),
    edit: (text: string) => editToml(text, path, value),
  }));
  await applyEdits(home, edits);
}

/** Makes one edit of `config.toml`, as `editConfig()` does. `name` is what a message calls it. */
export async function editConfigText(
  home: string,
  name: string,
  edit: (text: string) => TomlEdit,
): Promise<void> {
  await applyEdits(home, [{ name, edit }]);
}

interface NamedEdit {
  readonly name: string;
  readonly edit: (text: string) => TomlEdit;
}

async function applyEdits(home: string, edits: readonly NamedEdit[]): Promise<void> {
  prepareHome(home);
  const lock = await acquireLock(join(home, "config.lock"));
  try {
    const path = targetOf(configFile(home));
    const before = await readText(path);
    const mark = before.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
    let text = before.slice(mark.length);
    for (const { name, edit } of edits) {
      const edited = edit(text);
      if (!edited.ok) {
        throw new CommandFailure(
          edited.reason === "not_toml"
            ? `${path} is not valid TOML. Fix it first.`
            : `Can't set ${name} in ${path}: the file uses that name for something else. Edit the file.`,
        );
      }
      text = edited.text;
    }
    if (mark + text === before) return;
    writeFileAtomic(path, mark + text, { mode: existsSync(path) ? statSync(path).mode & 0o777 : 0o600 });
  } finally {
    lock.release();
  }
}

async function acquireLock(path: string): Promise<ExclusiveLock> {
  const lock = await waitForLock(createSqliteOpener(), path, LOCK_TIMEOUT_MS);
  if (lock === null)
    throw new CommandFailure(`Another command holds ${path}. Try again when it has finished.`);
  return lock;
}

/** Resolves symbolic links, so that a link is not replaced by a copy. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new CommandFailure(
        `${path} is a symbolic link to a file that does not exist. Create the file, or remove the link.`,
      );
    return path;
  }
}

async function readText(path: string): Promise<string> {
  const file = await readSmallFile(path, { maxBytes: MAX_CONFIG_BYTES });
  // Read again, because the checked text has lost its byte order mark.
  if (file.ok) return readFileSync(path, "utf8");
  if (file.reason === "absent") return "";
  throw new CommandFailure(describeUnreadable(path, file.reason));
}
