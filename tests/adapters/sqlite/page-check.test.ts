import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createSqliteOpener } from "../../../adapters/sqlite/open-sqlite.ts";

const PAGE_BYTES = 4_096;

describe("checkPages()", () => {
  let folder: string;
  let path: string;
  /** A check does not keep its process alive. */
  let alive: ReturnType<typeof setInterval>;
  const opener = createSqliteOpener();

  beforeEach(async () => {
    alive = setInterval(() => {}, 60_000);
    folder = mkdtempSync(join(tmpdir(), "meter-pages-"));
    path = join(folder, "meter.db");
    const connection = await opener.open(path);
    connection.execute("CREATE TABLE seen (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT");
    const insert = connection.prepare("INSERT INTO seen (text) VALUES (?)");
    connection.transaction(() => {
      for (let row = 0; row < 2_000; row++) insert.run(["x".repeat(1_000)]);
    });
    connection.close();
  });
  afterEach(() => {
    clearInterval(alive);
    rmSync(folder, { recursive: true, force: true });
  });

  it("finds nothing in an intact database that is in use, while other work runs", async () => {
    const connection = await opener.open(path);
    connection.prepare("INSERT INTO seen (text) VALUES (?)").run(["y"]);
    let isDone = false;
    const checked = opener.checkPages(path).finally(() => {
      isDone = true;
    });
    let turns = 0;
    for (; !isDone; turns++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await checked, null);
    assert.ok(turns > 10, `the event loop turned ${turns} times`);
    connection.prepare("INSERT INTO seen (text) VALUES (?)").run(["z"]);
    connection.close();
  });

  it("finds a damaged page", async () => {
    const file = openSync(path, "r+");
    writeSync(file, new Uint8Array(PAGE_BYTES).fill(0xa5), 0, PAGE_BYTES, 100 * PAGE_BYTES);
    closeSync(file);
    assert.match((await opener.checkPages(path)) ?? "", /Tree|page|malformed/);
  });

  it("finds nothing if there is no file, and damage in one that is no database", async () => {
    assert.equal(await opener.checkPages(join(folder, "missing.db")), null);
    writeFileSync(path, "no database ".repeat(1_000));
    assert.match((await opener.checkPages(path)) ?? "", /not a database/);
  });
});
