import type { Millis } from "../time.ts";

/** A certificate and its private key, in PEM. */
export interface CertificatePair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** A server certificate for one host. It is not valid before and after the two instants. */
export interface LeafCertificate extends CertificatePair {
  readonly notBefore: Millis;
  readonly notAfter: Millis;
}

/** Issues server certificates that chain to the installation's own certificate authority. */
export interface LeafIssuer {
  /**
   * Issues a certificate for a DNS name or an IP address. Each call makes a new one; keeping and renewing them is
   * the caller's. Throws a `RangeError` where the host is neither.
   */
  issue(host: string, now: Millis): LeafCertificate;
}

/** Why the certificate authority's files can't be used; the message names the path. */
export class CertificateStoreError extends Error {
  override name = "CertificateStoreError";
}
