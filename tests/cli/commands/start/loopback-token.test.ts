import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { readOrCreateToken } from "../../../../cli/commands/start/loopback-token.ts";
import { readToken, tokenFile } from "../../../../cli/daemon/daemon-process.ts";

const isWindows = process.platform === "win32" && "Windows has no modes";

describe("readOrCreateToken()", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "meter-token-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it("creates a secret that only its owner can read, and keeps it", async () => {
    const token = await readOrCreateToken(home);
    assert.match(token, /^[0-9a-f]{64}$/);
    assert.deepEqual([await readOrCreateToken(home), readToken(home)], [token, token]);
    if (!isWindows) assert.equal(statSync(tokenFile(home)).mode & 0o777, 0o600);
  });

  it("creates a new one if the file contains something else", async () => {
    writeFileSync(tokenFile(home), "short\n", { mode: 0o600 });
    assert.match(await readOrCreateToken(home), /^[0-9a-f]{64}$/);
  });

  // Planted: the secret was kept although others could read its file, as after a restore from a backup.
  it("creates a new one if others could read it or the file is a link", {
    skip: isWindows,
  }, async () => {
    const known = await readOrCreateToken(home);
    chmodSync(tokenFile(home), 0o644);
    const other = await readOrCreateToken(home);
    assert.notEqual(other, known);
    const elsewhere = join(home, "elsewhere");
    writeFileSync(elsewhere, `${known}\n`, { mode: 0o600 });
    rmSync(tokenFile(home));
    symlinkSync(elsewhere, tokenFile(home));
    assert.notEqual(await readOrCreateToken(home), known);
    assert.ok(statSync(tokenFile(home), { throwIfNoEntry: true }).isFile());
    assert.equal(statSync(tokenFile(home)).mode & 0o777, 0o600);
  });
});
