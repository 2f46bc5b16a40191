import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { prepareHome } from "../../../cli/home/prepare-home.ts";
import { createEmptyHome, createSampleHome, runWords } from "../run-command.rig.ts";

/** What may replace a file of the meter after a restore, a sync program or a user's mistake. */
const oddities: Readonly<Record<string, (path: string) => void>> = {
  "a pipe": (path) => void execFileSync("mkfifo", [path]),
  "a device without an end": (path) => symlinkSync("/dev/zero", path),
  "a link to itself": (path) => symlinkSync(path, path),
  "a folder": (path) => void mkdirSync(path),
  nothing: (path) => writeFileSync(path, ""),
  "bytes of no meaning": (path) => writeFileSync(path, Buffer.alloc(9_000, 0xfe)),
  "another's JSON": (path) => writeFileSync(path, '{"pid":-1,"api_port":1e9,"entries":"\u001b[31m"}'),
};

describe("a home with something other than a file in a file's place", {
  skip: process.platform === "win32" ? "has neither pipes nor such links" : false,
}, () => {
  for (const [what, make] of Object.entries(oddities)) {
    it(`neither hangs commands nor causes a stack trace: ${what}`, async () => {
      const { home, remove } = await createSampleHome();
      try {
        for (const name of ["daemon.json", "installed.json", "loopback-token", "config.toml", "machine-id"]) {
          make(join(home, name));
          for (const words of [["status"], ["stop"], ["report"], ["cloud", "privacy", "show"]]) {
            const { code, stdout, stderr } = await runWords(home, words);
            assert.ok([0, 1, 3].includes(code), `${name}: ${words.join(" ")} ended with ${code}`);
            assert.ok(!/ {4}at |\u001b/.test(stdout + stderr), stderr);
          }
          rmSync(join(home, name), { recursive: true });
        }
      } finally {
        remove();
      }
    });
  }
});

describe("a home that another user owns", {
  skip: process.getuid?.() === 0 ? false : "only root can make a folder of another user",
}, () => {
  it("is refused for root too, with the fix, and is not changed", () => {
    const home = mkdtempSync(join(tmpdir(), "meter-home-"));
    try {
      chownSync(home, 65_534, 65_534);
      assert.throws(
        () => prepareHome(home),
        /can't be used: it belongs to user 65534, and this is user 0\. Run meter as that user, or set METER_HOME to another folder\.$/,
      );
      assert.deepEqual(readdirSync(home), []);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });

  it("is refused by every command that reads it, so that none stops or deletes what that user runs", async () => {
    const { home, remove } = createEmptyHome();
    try {
      writeFileSync(join(home, "daemon.json"), "{}");
      chownSync(home, 65_534, 65_534);
      for (const words of [
        ["start"],
        ["stop"],
        ["status"],
        ["doctor"],
        ["uninstall", "--yes"],
        ["cloud", "privacy", "set", "preset", "minimal"],
        ["run", "--", "true"],
      ]) {
        const { code, stdout, stderr } = await runWords(home, words);
        assert.equal(code, 1, words.join(" "));
        assert.equal(stdout, "");
        assert.match(
          stderr,
          /^meter: The home .* can't be used: it belongs to user 65534, and this is user 0\./,
        );
      }
      assert.deepEqual(readdirSync(home), ["daemon.json"]);
    } finally {
      remove();
    }
  });
});
