import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { writeFileAtomic, writeFileIfChanged } from "../../../adapters/files/write-file-atomic.ts";

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

  it("names the file if it can't be written", {
    skip: "Deno" in globalThis || "Bun" in globalThis || process.platform === "win32",
  }, () => {
    const path = join(folder, "too-large");
    const module = new URL("../../../adapters/files/write-file-atomic.ts", import.meta.url).href;
    const script = `import(${JSON.stringify(module)}).then(({ writeFileAtomic }) => {
      try { writeFileAtomic(${JSON.stringify(path)}, "x".repeat(1e6), { mode: 0o600 }); }
      catch ({ code, message, path }) { console.log(JSON.stringify({ code, message, path })); }
    });`;
    // The limit takes the place of a full disk.
    const limited = ["-c", 'ulimit -f 8; exec "$@"', "sh", process.execPath, "-e", script];
    const { stdout, stderr } = spawnSync("/bin/sh", limited, { encoding: "utf8" });
    assert.deepEqual(
      JSON.parse(stdout || "null"),
      { code: "EFBIG", message: `EFBIG: file too large, write '${path}'`, path },
      stderr,
    );
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

describe("writeFileIfChanged()", () => {
  it("replaces a file with another text, and leaves one with the same", () => {
    const path = join(folder, "unchanged");
    writeFileIfChanged(path, "one", { mode: 0o600 });
    const { ino } = statSync(path);
    writeFileIfChanged(path, "one", { mode: 0o600 });
    assert.equal(statSync(path).ino, ino);
    writeFileIfChanged(path, "two", { mode: 0o600 });
    assert.equal(readFileSync(path, "utf8"), "two");
  });
});
