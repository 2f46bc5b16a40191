import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  CREDENTIALS_FILE,
  CREDENTIALS_KEY_FILE,
  CredentialsError,
  createCredentialStore,
} from "../../../adapters/cloud-credentials/credential-store.ts";
import { createRestoringStore } from "../../../adapters/cloud-credentials/restoring-store.ts";
import type { CloudCredentials } from "../../../core/ports/cloud-credentials.ts";

const credentials: CloudCredentials = {
  token: "mtr_sync_abcdefghijklmnop",
  origin: "https://cloud.test",
  baseUrl: "https://cloud.test",
  workspaceId: "w",
  workspaceName: "Work",
  machineId: null,
  promptHashKey: null,
  createdAt: Date.UTC(2026, 10, 22),
};

describe("createRestoringStore()", () => {
  let home: string;
  let sealed: Uint8Array | null;
  let told: string[];
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "meter-mirror-"));
    const store = createCredentialStore(home);
    await store.write(credentials);
    sealed = await store.seal(credentials);
    told = [];
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));
  const file = () => join(home, CREDENTIALS_FILE);
  const open = () =>
    createRestoringStore(createCredentialStore(home), {
      mirror: () => sealed,
      restored: (message) => told.push(message),
    });

  it("returns stored credentials without reading the mirror", async () => {
    const store = createRestoringStore(createCredentialStore(home), {
      mirror: () => assert.fail("asked"),
      restored: () => assert.fail("told"),
    });
    assert.deepEqual(await store.read(), credentials);
  });

  const losses: readonly [how: string, lose: () => void][] = [
    ["lost", () => rmSync(file())],
    ["damaged", () => writeFileSync(file(), '{"token":')],
    ["damaged", () => writeFileSync(file(), Buffer.alloc(64))],
  ];
  for (const [how, lose] of losses) {
    it(`restores a file that was ${how}, readable only by its owner, and reports it once`, async () => {
      lose();
      const store = open();
      assert.deepEqual(await store.read(), credentials);
      assert.deepEqual(await store.read(), credentials);
      assert.deepEqual(told, [
        `the stored cloud credentials were ${how} and have been restored from the copy in the database`,
      ]);
      assert.equal(JSON.parse(readFileSync(file(), "utf8")).token, credentials.token);
      if (process.platform !== "win32") assert.equal(statSync(file()).mode & 0o777, 0o600);
    });
  }

  it("returns the credentials of the copy if the file can't be written, and reports it once it can", async () => {
    rmSync(file());
    const own = createCredentialStore(home);
    let isFull = true;
    const write = async (found: CloudCredentials) => {
      if (isFull) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      await own.write(found);
    };
    const store = createRestoringStore(
      { ...own, write },
      { mirror: () => sealed, restored: (message) => told.push(message) },
    );
    assert.deepEqual(await store.read(), credentials);
    assert.deepEqual(told, []);
    isFull = false;
    assert.deepEqual(await store.read(), credentials);
    assert.equal(told.length, 1);
    assert.equal(existsSync(file()), true);
  });

  it("still rejects a file that others can read", {
    skip: process.platform === "win32" && "no modes",
  }, async () => {
    chmodSync(file(), 0o644);
    await assert.rejects(open().read(), CredentialsError);
    assert.deepEqual(told, []);
  });

  it("returns null without a mirror, its key, or a database", async () => {
    rmSync(file());
    const broken = createRestoringStore(createCredentialStore(home), {
      mirror: () => {
        throw new Error("the database can't be used");
      },
      restored: () => assert.fail("told"),
    });
    assert.equal(await broken.read(), null);
    writeFileSync(file(), "{}");
    chmodSync(file(), 0o600);
    rmSync(join(home, CREDENTIALS_KEY_FILE));
    await assert.rejects(open().read(), /not credentials/);
    rmSync(file());
    assert.equal(await open().read(), null);
    sealed = null;
    assert.equal(await open().read(), null);
    assert.deepEqual(told, []);
  });
});
