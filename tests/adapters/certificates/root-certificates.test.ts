import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { rootCertificates } from "node:tls";
import { openCertificateAuthority } from "../../../adapters/certificates/certificate-authority.ts";
import { loadRootCertificates, readPemBundle } from "../../../adapters/certificates/root-certificates.ts";
import { CertificateStoreError } from "../../../core/ports/certificates.ts";

const folder = mkdtempSync(join(tmpdir(), "meter-roots-"));
after(() => rmSync(folder, { recursive: true }));

describe("loadRootCertificates()", () => {
  it("returns the bundled roots", () => {
    const roots = new Set(loadRootCertificates(null));
    assert.ok(rootCertificates.every((root) => roots.has(root)));
  });

  it("adds the certificates of the extra file, ignoring text around them", () => {
    const { certificatePem } = openCertificateAuthority({
      directory: join(folder, "ca"),
      hosts: ["a.test"],
      now: Date.now(),
    });
    const path = join(folder, "extra.pem");
    writeFileSync(path, `# corporate root\n${certificatePem}\nnotes\n`);
    assert.ok(loadRootCertificates(path).includes(certificatePem.trim()));
  });

  it("throws if the extra file is missing, empty or damaged", () => {
    assert.throws(() => loadRootCertificates(join(folder, "none.pem")), CertificateStoreError);
    assert.throws(() => readPemBundle("", "x"), /no certificate in x/);
    assert.throws(
      () => readPemBundle("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "x"),
      /unreadable certificate in x/,
    );
  });
});
