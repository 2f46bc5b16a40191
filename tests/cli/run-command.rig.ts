import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { createSqliteOpener } from "../../adapters/sqlite/open-sqlite.ts";
import { databaseFile } from "../../cli/home/database-file.ts";
import { main } from "../../cli/main.ts";
import { openStore } from "../../daemon/store/open-store.ts";
import type { Store } from "../../daemon/store/port/store.ts";

/** The result of a command. */
export interface Said {
  code: number;
  stdout: string;
  stderr: string;
}

function createSink() {
  let text = "";
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return { stream, text: () => text };
}

/** Runs the words of a command line in this process, on a home; `run` is the program. */
export async function runWords(
  home: string,
  words: readonly string[],
  env: Record<string, string | undefined> = {},
  run = main,
): Promise<Said> {
  const [stdout, stderr] = [createSink(), createSink()];
  const code = await run(words, {
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: { METER_HOME: home, ...env },
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** A home with a database that the work fills, and perhaps a configuration. */
export async function createSampleHome(
  fill: (store: Store) => void = () => {},
  config = "",
): Promise<{ home: string; remove(): void }> {
  const home = mkdtempSync(join(tmpdir(), "meter-cli-"));
  mkdirSync(home, { recursive: true, mode: 0o700 });
  if (config !== "") writeFileSync(join(home, "config.toml"), config);
  const store = await openStore(createSqliteOpener(), databaseFile(home));
  fill(store);
  store.close();
  return { home, remove: () => rmSync(home, { recursive: true, force: true }) };
}

/** An empty home, without a database. */
export function createEmptyHome(config = ""): { home: string; remove(): void } {
  const home = mkdtempSync(join(tmpdir(), "meter-cli-"));
  if (config !== "") writeFileSync(join(home, "config.toml"), config);
  return { home, remove: () => rmSync(home, { recursive: true, force: true }) };
}
