import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { writeFileAtomic } from "../../../adapters/files/write-file-atomic.ts";

const folder = mkdtempSync(join(tmpdir(), "meter-files-"));
after(() => rmSync(folder, { recursive: true, force: true }));

describe("writeFileAtomic()", () => {
  it("replaces the text and sets the mode", () => {
    const path = join(folder, "file");
    writeFileSync(path, "old", { mode: 0o644 });
    writeFileAtomic(path, "neu: ä\n", { mode: 0o600 });
    assert.equal(readFileSync(path, "utf8"), "neu: ä\n");
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it("leaves no files after a failure", () => {
    const path = join(folder, "occupied");
    mkdirSync(join(path, "inside"), { recursive: true });
    assert.throws(() => writeFileAtomic(path, "x", { mode: 0o600 }));
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith(".tmp")),
      [],
    );
  });
});
