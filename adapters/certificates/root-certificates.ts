import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import * as tls from "node:tls";
import { CertificateStoreError } from "../../core/ports/certificates.ts";

/** Finds all certificates in a text of PEM blocks. Throws where there is none or one can't be read. */
export function readPemBundle(text: string, path: string): string[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new CertificateStoreError(`no certificate in ${path}`);
  for (const block of blocks) {
    try {
      new X509Certificate(block);
    } catch (error) {
      throw new CertificateStoreError(`unreadable certificate in ${path}`, { cause: error });
    }
  }
  return blocks;
}

/**
 * Collects the certificates that upstream servers are verified against: the runtime's bundled ones, the system's,
 * those of `NODE_EXTRA_CA_CERTS` and the given file. Throws a `CertificateStoreError` where the given file can't be
 * read: going on without it would only show as failing calls.
 */
export function loadRootCertificates(extraCaFile: string | null): string[] {
  const roots = new Set<string>();
  if (typeof tls.getCACertificates === "function") {
    for (const kind of ["bundled", "system", "extra"] as const) {
      for (const certificate of tls.getCACertificates(kind)) roots.add(certificate);
    }
  } else {
    for (const certificate of tls.rootCertificates) roots.add(certificate);
  }
  if (extraCaFile !== null) {
    let text: string;
    try {
      text = readFileSync(extraCaFile, "utf8");
    } catch (error) {
      throw new CertificateStoreError(`extra CA file ${extraCaFile} can't be read`, { cause: error });
    }
    for (const certificate of readPemBundle(text, extraCaFile)) roots.add(certificate);
  }
  return [...roots];
}
