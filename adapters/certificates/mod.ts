/**
 * The installation's own certificate authority, the server certificates below it, and the roots that upstream
 * servers are verified against. Certificates are P-256; the authority can sign servers for the listed hosts only.
 *
 * ```ts
 * import { mkdtempSync } from "node:fs";
 * import { createLeafIssuer, openCertificateAuthority } from "./mod.ts";
 *
 * const directory = mkdtempSync("/tmp/meter-ca-");
 * const authority = openCertificateAuthority({ directory, hosts: ["api.openai.com"], now: Date.now() });
 * const leaf = createLeafIssuer(authority).issue("api.openai.com", Date.now());
 * console.log(authority.certificatePath, leaf.notAfter);
 * ```
 *
 * @module
 */
export { CertificateStoreError } from "../../core/ports/certificates.ts";
export {
  authorityDays,
  authorityRenewDays,
  type CertificateAuthority,
  openCertificateAuthority,
} from "./certificate-authority.ts";
export { type AuthorityInspection, inspectCertificateAuthority } from "./inspect-authority.ts";
export { createLeafIssuer, leafBackdateDays, leafDays } from "./leaf-issuer.ts";
export { loadRootCertificates, readPemBundle } from "./root-certificates.ts";
