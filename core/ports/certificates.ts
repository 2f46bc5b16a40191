import type { Millis } from "../values/time.ts";

/** A certificate and its private key, in PEM. */
export interface CertificatePair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** A server certificate for one host, valid from `notBefore` to `notAfter`. */
export interface LeafCertificate extends CertificatePair {
  readonly notBefore: Millis;
  readonly notAfter: Millis;
}

/** Issues server certificates that chain to the installation's own certificate authority. */
export interface LeafIssuer {
  /**
   * Issues a certificate for a DNS name or an IP address. Each call makes a new one; the caller caches and renews them. Throws
   * a `RangeError` if the host is neither, if the authority may not sign for it, or if the authority has expired: clients
   * would reject the certificate.
   */
  issue(host: string, now: Millis): LeafCertificate;
}

/** Thrown if the certificate authority's files cannot be used; the message names the path. */
export class CertificateStoreError extends Error {
  override name = "CertificateStoreError";
}
