import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { readToken, tokenFile } from "../../cli/daemon-process.ts";
import { readOrMakeToken } from "../../cli/loopback-token.ts";

const isWindows = process.platform === "win32" && "Windows has no modes";

describe("readOrMakeToken()", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "meter-token-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it("makes a secret for its owner alone, and keeps it", async () => {
    const token = await readOrMakeToken(home);
    assert.match(token, /^[0-9a-f]{64}$/);
    assert.deepEqual([await readOrMakeToken(home), readToken(home)], [token, token]);
    if (!isWindows) assert.equal(statSync(tokenFile(home)).mode & 0o777, 0o600);
  });

  it("makes another where the file holds something else", async () => {
    writeFileSync(tokenFile(home), "short\n", { mode: 0o600 });
    assert.match(await readOrMakeToken(home), /^[0-9a-f]{64}$/);
  });

  // Planted: the secret was kept however open its file was, as after a restore from a backup.
  it("makes another where others could read it, or where it stands elsewhere", {
    skip: isWindows,
  }, async () => {
    const known = await readOrMakeToken(home);
    chmodSync(tokenFile(home), 0o644);
    const other = await readOrMakeToken(home);
    assert.notEqual(other, known);
    const elsewhere = join(home, "elsewhere");
    writeFileSync(elsewhere, `${known}\n`, { mode: 0o600 });
    rmSync(tokenFile(home));
    symlinkSync(elsewhere, tokenFile(home));
    assert.notEqual(await readOrMakeToken(home), known);
    assert.ok(statSync(tokenFile(home), { throwIfNoEntry: true }).isFile());
    assert.equal(statSync(tokenFile(home)).mode & 0o777, 0o600);
  });
});
