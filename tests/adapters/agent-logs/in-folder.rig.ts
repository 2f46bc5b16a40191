import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A folder for a test. */
export interface TestFolder {
  readonly path: string;
  /** Writes a file, and its folders. Returns its path. */
  write(name: string, text: string): string;
  /** Returns everything below the folder: names, sizes, modification times and contents. */
  list(): string[];
}

/** Runs the work with a new folder, then removes it. */
export async function inFolder(work: (folder: TestFolder) => Promise<void>): Promise<void> {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "meter-logs-")));
  const list = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true })
      .sort((one, other) => (one.name < other.name ? -1 : 1))
      .flatMap((entry) => {
        const name = join(folder, entry.name);
        if (entry.isDirectory()) return [name, ...list(name)];
        if (!entry.isFile()) return [name];
        const { size, mtimeMs } = statSync(name);
        return [`${name} ${size} ${mtimeMs} ${readFileSync(name).toString("base64")}`];
      });
  try {
    await work({
      path,
      write(name, text) {
        const file = join(path, name);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text);
        return file;
      },
      list: () => list(path),
    });
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}
