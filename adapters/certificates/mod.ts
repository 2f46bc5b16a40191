/**
 * The installation's own certificate authority, the leaf certificates it signs, and the roots for verifying upstream
 * servers. Certificates are P-256; the authority can sign servers for the listed hosts only.
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
export { type CertificateAuthority, openCertificateAuthority } from "./certificate-authority.ts";
export { createLeafIssuer } from "./leaf-issuer.ts";
export { loadRootCertificates } from "./root-certificates.ts";
