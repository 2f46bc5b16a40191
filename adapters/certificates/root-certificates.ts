import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import * as tls from "node:tls";
import { CertificateStoreError } from "../../core/ports/certificates.ts";

/** Returns all certificates in a PEM text. Throws if there is none or one can't be read. */
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
 * Returns the runtime's bundled roots, the system's and those of `NODE_EXTRA_CA_CERTS`. The first call in a process takes some
 * 100 ms.
 */
export function loadSystemRoots(): string[] {
  if (typeof tls.getCACertificates !== "function") return [...tls.rootCertificates];
  return [
    ...new Set((["bundled", "system", "extra"] as const).flatMap((kind) => tls.getCACertificates(kind))),
  ];
}

/** Reads the roots in a file. Throws a `CertificateStoreError` if it can't be read, since calls would fail without it. */
export function readExtraRoots(file: string | null): string[] {
  if (file === null) return [];
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new CertificateStoreError((error as Error).message, { cause: error });
  }
  return readPemBundle(text, file);
}

/** Collects the roots for verifying servers: those of the system, and those in the given file. */
export function loadRootCertificates(extraCaFile: string | null): string[] {
  return [...new Set([...loadSystemRoots(), ...readExtraRoots(extraCaFile)])];
}
