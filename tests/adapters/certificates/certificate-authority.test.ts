import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  authorityDays,
  CertificateStoreError,
  openCertificateAuthority,
} from "../../../adapters/certificates/mod.ts";

const dayMs = 86_400_000;
const now = Date.UTC(2026, 10, 21);
const hosts = ["api.openai.com", "api.anthropic.com"];
const posix = process.platform === "win32" ? "permissions are not POSIX here" : false;

let home: string;
let directory: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "meter-ca-"));
  directory = join(home, "deep", "ca");
});
afterEach(() => rmSync(home, { recursive: true }));

const open = (at = now, list: readonly string[] = hosts) =>
  openCertificateAuthority({ directory, hosts: list, now: at });
const mode = (path: string) => statSync(path).mode & 0o777;

describe("openCertificateAuthority()", () => {
  it("makes a constrained authority on first use and finds it again", () => {
    const first = open();
    assert.equal(first.issued, "first");
    const certificate = new X509Certificate(first.certificatePem);
    assert.equal(certificate.ca, true);
    assert.match(certificate.subject, /^CN=meter local CA [0-9a-f]{16}$/);
    const years = (Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)) / dayMs / 365;
    assert.ok(years >= 2 && years <= 5);
    assert.ok(Date.parse(certificate.validFrom) < now);
    assert.equal(readFileSync(first.certificatePath, "utf8"), first.certificatePem);
    const again = open(now + dayMs, [...hosts].reverse());
    assert.equal(again.issued, null);
    assert.equal(again.certificatePem, first.certificatePem);
    assert.equal(again.keyPem, first.keyPem);
    assert.deepEqual(again.warnings, []);
    assert.deepEqual(readdirSync(directory).sort(), ["ca.pem", "key.pem"]);
  });

  it("keeps the key to its owner, whatever the umask", { skip: posix }, () => {
    for (const mask of [0, 0o777]) {
      const before = process.umask(mask);
      try {
        directory = join(home, `umask-${mask}`);
        mkdirSync(directory, { mode: 0o700 });
        chmodSync(directory, 0o700);
        open();
      } finally {
        process.umask(before);
      }
      assert.equal(mode(directory), 0o700);
      assert.equal(mode(join(directory, "key.pem")), 0o600);
      assert.equal(mode(join(directory, "ca.pem")), 0o644);
    }
  });

  it("closes a folder and a key that stand open, and says so", { skip: posix }, () => {
    open();
    chmodSync(directory, 0o777);
    chmodSync(join(directory, "key.pem"), 0o644);
    const { warnings } = open();
    assert.equal(warnings.length, 2);
    assert.equal(mode(directory), 0o700);
    assert.equal(mode(join(directory, "key.pem")), 0o600);
  });

  for (const planted of ["key.pem", "ca.pem"]) {
    it(`refuses a symbolic link in the place of ${planted}`, { skip: posix }, () => {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const target = join(home, "target");
      symlinkSync(target, join(directory, planted));
      assert.throws(() => open(), CertificateStoreError);
      writeFileSync(target, "");
      assert.throws(() => open(), CertificateStoreError);
      assert.equal(readFileSync(target, "utf8"), "");
    });
  }

  it("refuses a symbolic link in the place of the folder", { skip: posix }, () => {
    mkdirSync(join(home, "elsewhere"));
    mkdirSync(join(home, "deep"));
    symlinkSync(join(home, "elsewhere"), directory);
    assert.throws(() => open(), CertificateStoreError);
    assert.deepEqual(readdirSync(join(home, "elsewhere")), []);
  });

  it("re-issues with the same key when the hosts change", () => {
    const first = open();
    const second = open(now, [...hosts, "*.openai.azure.com"]);
    assert.equal(second.issued, "hosts_changed");
    assert.equal(second.keyPem, first.keyPem);
    assert.notEqual(second.certificatePem, first.certificatePem);
    assert.equal(
      new X509Certificate(second.certificatePem).subject,
      new X509Certificate(first.certificatePem).subject,
    );
    assert.equal(open(now, [...hosts, "*.openai.azure.com"]).issued, null);
  });

  it("makes a new key and certificate when the end is near", () => {
    const first = open();
    const second = open(now + (authorityDays - 30) * dayMs);
    assert.equal(second.issued, "expiring");
    assert.notEqual(second.keyPem, first.keyPem);
    assert.equal(
      mode(join(directory, "key.pem")),
      process.platform === "win32" ? mode(join(directory, "key.pem")) : 0o600,
    );
  });

  it("re-issues a certificate that is missing, damaged, of another key or from the future", () => {
    const first = open();
    for (const damage of [
      () => rmSync(first.certificatePath),
      () => writeFileSync(first.certificatePath, "not a certificate"),
      () => {
        const other = openCertificateAuthority({ directory: join(home, "other"), hosts, now });
        writeFileSync(first.certificatePath, other.certificatePem);
      },
    ]) {
      damage();
      const mended = open();
      assert.equal(mended.issued, "damaged");
      assert.equal(mended.keyPem, first.keyPem);
      rmSync(join(home, "other"), { recursive: true, force: true });
    }
    assert.equal(open(now - 10 * dayMs).issued, "damaged");
  });

  it("refuses a key that is no key, and leaves it as it is", () => {
    open();
    writeFileSync(join(directory, "key.pem"), "not a key");
    assert.throws(() => open(), CertificateStoreError);
    assert.equal(readFileSync(join(directory, "key.pem"), "utf8"), "not a key");
  });
});
