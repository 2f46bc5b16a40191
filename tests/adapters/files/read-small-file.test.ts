import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readSmallFile } from "../../../adapters/files/read-small-file.ts";
import { readTomlFile } from "../../../adapters/files/read-toml-file.ts";

const folder = mkdtempSync(join(tmpdir(), "meter-files-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const write = (name: string, content: string | Uint8Array, mode = 0o600): string => {
  writeFileSync(at(name), content, { mode });
  chmodSync(at(name), mode);
  return at(name);
};

const posix = process.platform === "win32" ? "Windows has neither modes nor owners of this kind" : false;
const root = process.getuid?.() === 0 ? false : "only root can give files away";

describe("readSmallFile()", () => {
  it("reads a text up to the limit", async () => {
    const path = write("text", "naïve");
    assert.deepEqual(await readSmallFile(path, { maxBytes: 6 }), { ok: true, text: "naïve" });
    assert.deepEqual(await readSmallFile(path, { maxBytes: 5 }), { ok: false, reason: "too_large" });
    const long = "x".repeat(10_000);
    for (const maxBytes of [10_000, 10_001, 2 ** 60])
      assert.deepEqual(await readSmallFile(write("long", long), { maxBytes }), { ok: true, text: long });
    assert.equal((await readSmallFile(write("long", long), { maxBytes: 9_999 })).ok, false);
    assert.deepEqual(await readSmallFile(write("empty", ""), { maxBytes: 0 }), { ok: true, text: "" });
  });

  it("reads a file that states no size", {
    skip: process.platform !== "linux" && "only Linux has /proc",
  }, async () => {
    const path = "/proc/self/smaps";
    const read = await readSmallFile(path, { maxBytes: 2 ** 24 });
    assert.equal(read.ok && read.text.length > 10_000 && read.text.endsWith("\n"), true);
    assert.deepEqual(await readSmallFile(path, { maxBytes: 6_000 }), { ok: false, reason: "too_large" });
  });

  it("rejects invalid UTF-8", async () => {
    for (const bytes of [Uint8Array.of(0xff, 0xfe), Uint8Array.of(0x61, 0), Uint8Array.of(0xc3)]) {
      const read = await readSmallFile(write("binary", bytes), { maxBytes: 10 });
      assert.deepEqual(read, { ok: false, reason: "not_text" });
    }
  });

  it("distinguishes a missing file from other objects", async () => {
    mkdirSync(at("folder"));
    const cases: readonly [path: string, reason: string][] = [
      [at("absent"), "absent"],
      [join(write("file", ""), "below"), "absent"],
      [at("folder"), "not_a_file"],
      ["\0", "unreadable"],
    ];
    for (const [path, reason] of cases) {
      assert.deepEqual(await readSmallFile(path, { maxBytes: 10 }), { ok: false, reason });
    }
  });

  it("rejects symbolic links, pipes and devices without waiting", { skip: posix }, async () => {
    symlinkSync(write("target", "x"), at("link"));
    assert.deepEqual(await readSmallFile(at("link"), { maxBytes: 10 }), { ok: false, reason: "symlink" });
    execFileSync("mkfifo", [at("pipe")]);
    assert.deepEqual(await readSmallFile(at("pipe"), { maxBytes: 10 }), { ok: false, reason: "not_a_file" });
    assert.deepEqual(await readSmallFile("/dev/zero", { maxBytes: 10 }), { ok: false, reason: "not_a_file" });
  });

  it("requires that no other user can read a secret", { skip: posix }, async () => {
    const rules = { maxBytes: 10, secret: true };
    assert.deepEqual(await readSmallFile(write("secret", "x"), rules), { ok: true, text: "x" });
    for (const mode of [0o640, 0o604, 0o620]) {
      assert.deepEqual(await readSmallFile(write("open", "x", mode), rules), {
        ok: false,
        reason: "open_to_others",
      });
    }
    linkSync(at("secret"), at("second-name"));
    assert.deepEqual(await readSmallFile(at("secret"), rules), { ok: false, reason: "hard_linked" });
    assert.deepEqual(await readSmallFile(at("secret"), { maxBytes: 10 }), { ok: true, text: "x" });
  });

  it("rejects another user's file", { skip: posix || root }, async () => {
    const path = write("foreign", "x", 0o644);
    chownSync(path, 12_345, 12_345);
    assert.deepEqual(await readSmallFile(path, { maxBytes: 10 }), { ok: false, reason: "foreign_owner" });
  });
});

describe("readTomlFile()", () => {
  it("parses numbers, dates and tables", async () => {
    const path = write("a.toml", 'a = 1\nb = 9007199254740993\nc = 2026-01-02\n[d]\ne = "f"\n');
    const file = await readTomlFile(path, { maxBytes: 1_000 });
    assert.ok(file.ok);
    const { a, b, c, d } = file.table;
    assert.deepEqual([a, b, { ...(d as object) }], [1, 9_007_199_254_740_993n, { e: "f" }]);
    assert.equal((c as Date).toISOString(), "2026-01-02");
  });

  it("returns the line and column of a syntax error, without quoting the text", async () => {
    const file = await readTomlFile(write("b.toml", 'a = 1\nkey = sk-secret"\n'), { maxBytes: 1_000 });
    assert.deepEqual(file, { ok: false, reason: "not_toml", line: 2, column: 7 });
  });

  it("returns why a file was not read, and limits the nesting", async () => {
    assert.deepEqual(await readTomlFile(at("absent"), { maxBytes: 9 }), {
      ok: false,
      reason: "absent",
      line: 0,
      column: 0,
    });
    const deep = write("deep.toml", `a = ${"[".repeat(5_000)}${"]".repeat(5_000)}`);
    assert.equal((await readTomlFile(deep, { maxBytes: 100_000 })).ok, false);
  });

  it("does not set a prototype from a key", async () => {
    const file = await readTomlFile(write("p.toml", '["__proto__"]\npolluted = true\n'), { maxBytes: 1_000 });
    assert.ok(!file.ok || (file.table as { polluted?: unknown }).polluted === undefined);
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });
});
