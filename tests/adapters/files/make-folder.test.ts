import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { makeFolder } from "../../../adapters/files/make-folder.ts";

describe("makeFolder()", () => {
  let root: string;
  before(() => {
    root = mkdtempSync(join(tmpdir(), "meter-folder-"));
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  it("creates missing folders for this user only, and keeps existing ones", () => {
    const deep = join(root, "one", "two", "three");
    makeFolder(deep);
    makeFolder(deep);
    assert.equal(statSync(deep).mode & 0o777, 0o700);
    assert.equal(statSync(join(root, "one")).mode & 0o777, 0o700);
    symlinkSync(deep, join(root, "link"));
    makeFolder(join(root, "link", "four"));
    assert.ok(existsSync(join(deep, "four")));
  });

  it("rejects a path below a file or a dangling link", () => {
    writeFileSync(join(root, "file"), "");
    symlinkSync(join(root, "nowhere"), join(root, "dangling"));
    for (const path of ["file", "file/below", "dangling", "dangling/below"]) {
      assert.throws(() => makeFolder(join(root, path)), { code: "EEXIST" }, path);
    }
    assert.equal(existsSync(join(root, "nowhere")), false);
  });

  // Node's own recursion never ends there.
  it("throws if nothing can be created", { skip: !existsSync("/proc/self") }, () => {
    assert.throws(() => makeFolder("/proc/nope/deep"), { code: "ENOENT" });
  });
});
