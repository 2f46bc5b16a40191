import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { openCertificateAuthority } from "../../../adapters/certificates/certificate-authority.ts";
import { inspectCertificateAuthority } from "../../../adapters/certificates/inspect-authority.ts";
import { CertificateStoreError } from "../../../core/ports/certificates.ts";

const DAY_MS = 86_400_000;

describe("inspectCertificateAuthority()", () => {
  const now = Date.parse("2026-11-21T12:00:00Z");
  const hosts = ["api.openai.com", "*.example.com"];
  let directory: string;
  before(() => {
    directory = join(mkdtempSync(join(tmpdir(), "meter-ca-")), "ca");
  });
  after(() => rmSync(join(directory, ".."), { recursive: true, force: true }));
  const look = (more = {}) => inspectCertificateAuthority({ directory, hosts, now, ...more });

  it("reports what opening it would do, without changes", () => {
    assert.equal(look().state, "absent");
    const { certificatePem } = openCertificateAuthority({ directory, hosts, now });
    const found = look();
    assert.deepEqual(
      [found.state, found.certificatePem, found.keyOpenToOthers],
      ["current", certificatePem, false],
    );
    assert.ok((found.validUntil ?? 0) > now + 1_000 * DAY_MS);
    assert.equal(look({ hosts: [...hosts, "api.x.ai"] }).state, "hosts_changed");
    assert.equal(look({ now: now + 1_090 * DAY_MS }).state, "expiring");
    // Issued while the clock was ahead.
    assert.equal(look({ now: now - 3 * DAY_MS }).state, "damaged");
    assert.equal(openCertificateAuthority({ directory, hosts, now }).certificatePem, certificatePem);
  });

  it("reports a key that others can read", { skip: process.platform === "win32" && "no modes" }, () => {
    chmodSync(join(directory, "key.pem"), 0o644);
    assert.equal(look().keyOpenToOthers, true);
    chmodSync(join(directory, "key.pem"), 0o600);
  });

  it("reports a key that opening it would reject, and no other damage, as a damaged key", () => {
    const path = join(directory, "key.pem");
    const key = readFileSync(path, "utf8");
    assert.equal(look().keyDamaged, false);
    for (const text of ["", "no key"]) {
      writeFileSync(path, text);
      assert.deepEqual([look().state, look().keyDamaged], ["damaged", true]);
      assert.throws(() => openCertificateAuthority({ directory, hosts, now }), CertificateStoreError);
    }
    rmSync(path);
    assert.deepEqual([look().state, look().keyDamaged], ["damaged", false]);
    openCertificateAuthority({ directory, hosts, now });
    assert.deepEqual([look().state, look().keyDamaged], ["current", false]);
    writeFileSync(path, key);
    openCertificateAuthority({ directory, hosts, now });
  });

  it("reports a file in the place of its folder as a damaged key", () => {
    const file = join(directory, "..", "file");
    writeFileSync(file, "");
    assert.equal(look({ directory: file }).keyDamaged, true);
    assert.throws(() => openCertificateAuthority({ directory: file, hosts, now }), CertificateStoreError);
  });

  it("reports damage", () => {
    writeFileSync(join(directory, "ca.pem"), "no certificate");
    assert.deepEqual([look().state, look().keyDamaged], ["damaged", false]);
  });

  it("reports a pipe or device as damage, without waiting for it", {
    skip: process.platform === "win32" && "has no pipes",
  }, () => {
    rmSync(join(directory, "ca.pem"));
    execFileSync("mkfifo", [join(directory, "ca.pem")]);
    assert.equal(look().state, "damaged");
  });
});
