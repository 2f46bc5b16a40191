import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { LOG_BACKUPS, MAX_LOG_FILE_MIB, openLogFile } from "../../../adapters/log/mod.ts";

const folder = mkdtempSync(join(tmpdir(), "meter-log-"));
after(() => rmSync(folder, { recursive: true, force: true }));

describe("openLogFile()", () => {
  it("appends lines to a file that only its owner can read", async () => {
    const path = join(folder, "daemon.log");
    for (const line of ["one\n", "two\n"]) {
      const file = openLogFile(path);
      file.write(line);
      await file.close();
    }
    assert.equal(readFileSync(path, "utf8"), "one\ntwo\n");
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it("rotates as the contract says", () => {
    assert.deepEqual([MAX_LOG_FILE_MIB, LOG_BACKUPS], [100, 5]);
  });
});
