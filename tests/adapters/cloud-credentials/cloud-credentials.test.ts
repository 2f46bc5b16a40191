import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  CredentialsError,
  createCredentialStore,
} from "../../../adapters/cloud-credentials/credential-store.ts";
import { createMachineIdentity } from "../../../adapters/cloud-credentials/machine-identity.ts";
import { createSecretBox } from "../../../adapters/cloud-credentials/secret-box.ts";
import type { CredentialFile } from "../../../core/ports/cloud-credentials.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "meter-credentials-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const credentials = {
  token: "mtr_sync_secret-secret",
  origin: "https://cloud.company",
  baseUrl: "https://cloud.company/meter",
  workspaceId: "w",
  workspaceName: "Wörk",
  machineId: null,
  promptHashKey: "5e".repeat(32),
  createdAt: Date.UTC(2026, 10, 21),
};
const file = () => join(home, "cloud-credentials.json");

describe("createCredentialStore()", () => {
  it("returns what was saved, from a file that only its owner can read", async () => {
    const store = createCredentialStore(home);
    assert.equal(await store.read(), null);
    await store.write(credentials);
    assert.deepEqual(await store.read(), credentials);
    assert.equal(statSync(file()).mode & 0o777, 0o600);
    await store.clear();
    await store.clear();
    assert.equal(await store.read(), null);
  });

  it("deletes the file, what a killed write left, and the key of the copies", async () => {
    const store = createCredentialStore(home);
    await store.write(credentials);
    const sealed = await store.seal(credentials);
    writeFileSync(join(home, "cloud-credentials.json.0123456789ab.tmp"), credentials.token);
    writeFileSync(join(home, "config.toml"), "");
    await store.clear();
    assert.deepEqual(readdirSync(home), ["config.toml"]);
    assert.equal(await store.open(sealed), null);
  });

  it("reads a file without a key for prompt hashes", async () => {
    const store = createCredentialStore(home);
    await store.write(credentials);
    const { prompt_hash_key: _key, ...older } = JSON.parse(readFileSync(file(), "utf8"));
    writeFileSync(file(), JSON.stringify(older), { mode: 0o600 });
    assert.deepEqual(await store.read(), { ...credentials, promptHashKey: null });
  });

  it("rejects a file that others can read, a link, and invalid contents, without quoting them", async () => {
    const store = createCredentialStore(home);
    const tricks: (() => void)[] = [
      () => chmodSync(file(), 0o644),
      () => writeFileSync(file(), "secret-secret", { mode: 0o600 }),
      () => writeFileSync(file(), JSON.stringify({ token: "secret-secret" }), { mode: 0o600 }),
      () => {
        writeFileSync(join(home, "elsewhere"), readFileSync(file()), { mode: 0o600 });
        rmSync(file());
        symlinkSync(join(home, "elsewhere"), file());
      },
    ];
    for (const trick of tricks) {
      await store.clear();
      await store.write(credentials);
      trick();
      await assert.rejects(store.read(), (error: Error) => {
        assert.ok(error instanceof CredentialsError);
        assert.equal(error.message.includes("secret-secret"), false);
        return true;
      });
    }
  });

  it("seals the mirror so that only its own key opens it", async () => {
    const store = createCredentialStore(home);
    const sealed = await store.seal(credentials);
    assert.equal(Buffer.from(sealed).includes("secret"), false);
    assert.equal(Buffer.from(sealed).includes("5e5e"), false);
    assert.deepEqual(await store.open(sealed), credentials);
    for (let at = 0; at < sealed.length; at += 7) {
      assert.equal(await store.open(sealed.with(at, (sealed[at] as number) ^ 1)), null, String(at));
    }
    assert.equal(await store.open(new Uint8Array(3)), null);
    assert.notDeepEqual(await store.seal(credentials), sealed);
    rmSync(join(home, "cloud-credentials.key"));
    assert.equal(await store.open(sealed), null);
  });
});

describe("exclusively()", () => {
  it("runs one work at a time, passes it the file, and goes on after one that failed", async () => {
    const [one, other] = [createCredentialStore(home), createCredentialStore(home)];
    const steps: string[] = [];
    const work = (name: string) => async (file: CredentialFile) => {
      steps.push(`${name} begins`);
      await file.write({ ...credentials, workspaceName: name });
      await new Promise((resolve) => setImmediate(resolve));
      steps.push(`${name} ends with ${(await file.read())?.workspaceName}`);
    };
    await Promise.all([one.exclusively(work("a")), other.exclusively(work("b"))]);
    assert.deepEqual(steps, ["a begins", "a ends with a", "b begins", "b ends with b"]);
    await assert.rejects(
      one.exclusively(() => Promise.reject(new Error("full"))),
      /full/,
    );
    assert.equal(await other.exclusively(async () => 7), 7);
  });
});

describe("createSecretBox()", () => {
  it("creates the key again if a full disk or a crash has left an empty file", async () => {
    const path = join(home, "key");
    writeFileSync(path, "", { mode: 0o600 });
    const box = createSecretBox(path);
    assert.equal(await box.open(new Uint8Array(64).fill(1)), null);
    // As two processes that start together.
    const [one, other] = await Promise.all([box.seal("one"), createSecretBox(path).seal("other")]);
    assert.deepEqual([await box.open(one), await box.open(other)], ["one", "other"]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it("rejects an invalid key file", async () => {
    const path = join(home, "key");
    writeFileSync(path, "short", { mode: 0o600 });
    await assert.rejects(createSecretBox(path).seal("x"), /could not use the key file/);
  });
});

describe("createMachineIdentity()", () => {
  const ioreg = '  "IOPlatformUUID" = "4F2E2A1B-0000-1111-2222-333344445555"';
  const registry = "    MachineGuid    REG_SZ    8a4f1c1e-aaaa-bbbb-cccc-1234567890ab";

  it("derives a fingerprint from the platform's id once, and stores it with mode 0600", async () => {
    const asked: string[] = [];
    const run = async (program: string) => {
      asked.push(program);
      return program === "reg" ? registry : ioreg;
    };
    const mac = await createMachineIdentity(home, { platform: "darwin", run }).fingerprint();
    assert.match(mac ?? "", /^[0-9a-f]{32}$/);
    assert.equal(statSync(join(home, "machine-id")).mode & 0o777, 0o600);
    assert.equal(await createMachineIdentity(home, { platform: "win32", run }).fingerprint(), mac);
    rmSync(join(home, "machine-id"));
    const windows = await createMachineIdentity(home, { platform: "win32", run }).fingerprint();
    assert.notEqual(windows, mac);
    assert.deepEqual(asked, ["/usr/sbin/ioreg", "reg"]);
  });

  it("reads the second file if the first is empty", async () => {
    const [empty, second] = [join(home, "a"), join(home, "b")];
    writeFileSync(empty, "\n");
    writeFileSync(second, "0123456789abcdef0123456789abcdef\n");
    const one = createMachineIdentity(home, { platform: "linux", idFiles: [empty, second] });
    assert.match((await one.fingerprint()) ?? "", /^[0-9a-f]{32}$/);
  });

  it("uses host name and MAC address if the platform has no id", async (context) => {
    const cards = Object.values(networkInterfaces()).flatMap((card) => card ?? []);
    if (cards.every(({ internal }) => internal)) return context.skip("no network card here");
    const one = createMachineIdentity(home, { platform: "linux", idFiles: [] });
    const found = await one.fingerprint();
    assert.match(found ?? "", /^[0-9a-f]{32}$/);
    assert.notEqual(
      found,
      createHash("sha256").update(one.hostname.toLowerCase()).digest("hex").slice(0, 32),
    );
  });

  it("never rejects: a program that fails, a home that is gone, a planted link", async () => {
    const run = async () => {
      throw new Error("no such program");
    };
    const gone = createMachineIdentity(join(home, "gone"), { platform: "darwin", run });
    const found = await gone.fingerprint();
    assert.ok(found === null || /^[0-9a-f]{32}$/.test(found));
    assert.equal(existsSync(join(home, "gone")), false);
    symlinkSync(join(home, "target"), join(home, "machine-id"));
    await createMachineIdentity(home).fingerprint();
    assert.equal(existsSync(join(home, "target")), false);
  });
});
