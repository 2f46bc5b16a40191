import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readOpenFilesLimit } from "../../../adapters/process-table/open-files-limit.ts";

describe("readOpenFilesLimit()", () => {
  it("reads the soft limit in Linux's format, and returns null elsewhere", () => {
    const folder = mkdtempSync(join(tmpdir(), "meter-limits-"));
    try {
      const file = join(folder, "limits");
      const head = "Limit                     Soft Limit           Hard Limit           Units     \n";
      writeFileSync(
        file,
        `${head}Max open files            64                   4096                 files     \n`,
      );
      assert.equal(readOpenFilesLimit(file), 64);
      writeFileSync(
        file,
        `${head}Max open files            unlimited            unlimited            files     \n`,
      );
      assert.equal(readOpenFilesLimit(file), null);
      assert.equal(readOpenFilesLimit(join(folder, "none")), null);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
