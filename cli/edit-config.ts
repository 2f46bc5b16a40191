import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { editToml, readSmallFile, type TomlScalar, writeFileAtomic } from "../adapters/files/mod.ts";
import { type ExclusiveLock, waitForLock } from "../adapters/lock/mod.ts";
import { createSqliteOpener } from "../adapters/sqlite/mod.ts";
import { CommandFailure } from "./exit-codes.ts";
import { prepareHome } from "./home.ts";
import { configFile, MAX_CONFIG_BYTES } from "./read-config.ts";
import { unreadable } from "./render/unreadable.ts";

/** One setting: the names of its tables and its own. */
export interface ConfigChange {
  readonly path: readonly string[];
  readonly value: TomlScalar;
}

/** How long another writer is waited for, in milliseconds. */
const LOCK_WITHIN_MS = 30_000;

const BYTE_ORDER_MARK = "\ufeff";

/**
 * Sets keys of `config.toml` in one step and leaves every other byte as it is. Who reads meanwhile sees the old file or the
 * new one; two writers take turns. A symbolic link stays one, and the file keeps its mode; a new one is its owner's alone.
 */
export async function editConfig(home: string, changes: readonly ConfigChange[]): Promise<void> {
  prepareHome(home);
  const lock = await takeTurn(join(home, "config.lock"));
  try {
    const path = targetOf(configFile(home));
    const before = await readText(path);
    const mark = before.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
    let text = before.slice(mark.length);
    for (const change of changes) {
      const edit = editToml(text, change.path, change.value);
      if (!edit.ok) {
        throw new CommandFailure(
          edit.reason === "not_toml"
            ? `${path} is no TOML; correct it first`
            : `${change.path.join(".")} can't be set: something else stands in its place in ${path}`,
        );
      }
      text = edit.text;
    }
    if (mark + text === before) return;
    writeFileAtomic(path, mark + text, { mode: existsSync(path) ? statSync(path).mode & 0o777 : 0o600 });
  } finally {
    lock.release();
  }
}

async function takeTurn(path: string): Promise<ExclusiveLock> {
  const lock = await waitForLock(createSqliteOpener(), path, LOCK_WITHIN_MS);
  if (lock === null) throw new CommandFailure(`another command holds ${path}: try again when it has ended`);
  return lock;
}

/** The file behind the name, so that a link is not replaced by a copy. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new CommandFailure(`${path} is a link to a file that is not there`);
    return path;
  }
}

async function readText(path: string): Promise<string> {
  const file = await readSmallFile(path, { maxBytes: MAX_CONFIG_BYTES });
  // Read anew, since the checked text has lost its byte order mark.
  if (file.ok) return readFileSync(path, "utf8");
  if (file.reason === "absent") return "";
  throw new CommandFailure(unreadable(path, file.reason));
}
