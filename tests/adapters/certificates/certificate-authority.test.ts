import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import fs, {
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
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import {
  authorityDays,
  openCertificateAuthority,
} from "../../../adapters/certificates/certificate-authority.ts";
import { objectIdentifier } from "../../../adapters/certificates/der.ts";
import { authorityExtensions, issueCertificate } from "../../../adapters/certificates/issue-certificate.ts";
import { createLeafIssuer } from "../../../adapters/certificates/leaf-issuer.ts";
import { CertificateStoreError } from "../../../core/ports/certificates.ts";

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
  it("creates a constrained authority on first use and reopens it", () => {
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

  it("makes the key readable only by its owner, regardless of the umask", { skip: posix }, () => {
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

  it("restricts a folder and a key that others can read, and warns about it", { skip: posix }, () => {
    open();
    chmodSync(directory, 0o777);
    chmodSync(join(directory, "key.pem"), 0o644);
    const { warnings } = open();
    assert.equal(warnings.length, 2);
    assert.equal(mode(directory), 0o700);
    assert.equal(mode(join(directory, "key.pem")), 0o600);
  });

  for (const planted of ["key.pem", "ca.pem"]) {
    it(`rejects a symbolic link instead of ${planted}`, { skip: posix }, () => {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const target = join(home, "target");
      symlinkSync(target, join(directory, planted));
      assert.throws(() => open(), CertificateStoreError);
      writeFileSync(target, "");
      assert.throws(() => open(), CertificateStoreError);
      assert.equal(readFileSync(target, "utf8"), "");
    });
  }

  it("rejects a symbolic link instead of the folder", { skip: posix }, () => {
    mkdirSync(join(home, "elsewhere"));
    mkdirSync(join(home, "deep"));
    symlinkSync(join(home, "elsewhere"), directory);
    assert.throws(() => open(), CertificateStoreError);
    assert.deepEqual(readdirSync(join(home, "elsewhere")), []);
  });

  it("reissues with the same key if the hosts change", () => {
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

  it("reissues, with the same key, a certificate of an earlier version that was not limited to TLS servers", () => {
    const first = open();
    const key = createPrivateKey(first.keyPem);
    const publicKey = createPublicKey(key);
    const subject = new X509Certificate(first.certificatePem).subject.replace("CN=", "");
    const usage = Buffer.from(objectIdentifier("2.5.29.37"));
    const earlier = issueCertificate({
      subject,
      issuer: subject,
      publicKey,
      signingKey: key,
      notBefore: now - dayMs,
      notAfter: now + 1_000 * dayMs,
      extensions: authorityExtensions(publicKey, hosts).filter((each) => !Buffer.from(each).includes(usage)),
    });
    writeFileSync(first.certificatePath, earlier);
    const second = open();
    assert.equal(second.issued, "outdated");
    assert.equal(second.keyPem, first.keyPem);
    // A program that reads the new certificate trusts leaves of a daemon that still uses the earlier one.
    const leaf = new X509Certificate(
      createLeafIssuer({ ...first, certificatePem: earlier }).issue("api.openai.com", now).certificatePem,
    );
    assert.ok(leaf.checkIssued(new X509Certificate(second.certificatePem)));
    assert.ok(leaf.verify(publicKey));
    assert.equal(open().issued, null);
  });

  it("creates a new key and certificate shortly before expiry", () => {
    const first = open();
    const second = open(now + (authorityDays - 30) * dayMs);
    assert.equal(second.issued, "expiring");
    assert.notEqual(second.keyPem, first.keyPem);
    assert.equal(
      mode(join(directory, "key.pem")),
      process.platform === "win32" ? mode(join(directory, "key.pem")) : 0o600,
    );
  });

  it("reissues a certificate that is missing, damaged, of another key or from the future", () => {
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
      const repaired = open();
      assert.equal(repaired.issued, "damaged");
      assert.equal(repaired.keyPem, first.keyPem);
      rmSync(join(home, "other"), { recursive: true, force: true });
    }
    assert.equal(open(now - 10 * dayMs).issued, "damaged");
  });

  /** Makes a function of `node:fs` fail while the work runs. */
  const withFailing = (name: "linkSync" | "fsyncSync", code: string, work: () => void) => {
    const failing = mock.method(fs, name, () => {
      throw Object.assign(new Error(code), { code });
    });
    syncBuiltinESMExports();
    try {
      work();
    } finally {
      failing.mock.restore();
      syncBuiltinESMExports();
    }
  };

  it("creates the key on a file system without hard links, and replaces none there", () => {
    withFailing("linkSync", "ENOTSUP", () => {
      const { keyPem } = open();
      assert.equal(readFileSync(join(directory, "key.pem"), "utf8"), keyPem);
      if (posix === false) assert.equal(mode(join(directory, "key.pem")), 0o600);
      assert.equal(open().keyPem, keyPem);
    });
    assert.deepEqual(readdirSync(directory).sort(), ["ca.pem", "key.pem"]);
  });

  it("leaves no draft behind if the disk is full", () => {
    const openOnFullDisk = () => withFailing("fsyncSync", "ENOSPC", () => void open());
    assert.throws(openOnFullDisk, /ENOSPC/);
    assert.deepEqual(readdirSync(directory), []);
    open();
    rmSync(join(directory, "ca.pem"));
    assert.throws(openOnFullDisk, /ENOSPC/);
    assert.deepEqual(readdirSync(directory), ["key.pem"]);
  });

  it("rejects an invalid key file without changing it", () => {
    open();
    writeFileSync(join(directory, "key.pem"), "not a key");
    assert.throws(() => open(), CertificateStoreError);
    assert.equal(readFileSync(join(directory, "key.pem"), "utf8"), "not a key");
  });
});
