import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import type { CertificatePair, LeafIssuer } from "../../core/ports/certificates.ts";
import { DAY_MS } from "../../core/values/time.ts";
import {
  ipBytes,
  issueCertificate,
  keyIdentifier,
  permitsHost,
  serverExtensions,
} from "./issue-certificate.ts";

/** Validity of a server certificate, in days. Short, since a new one costs a fraction of a millisecond. */
export const leafDays = 30;

/** How many days in the past its validity starts, for clients whose clock is behind. */
const leafBackdateDays = 2;

const hostName =
  /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Creates an issuer of leaf certificates under the given authority. All its leaves share one key, which is never stored. */
export function createLeafIssuer(authority: CertificatePair): LeafIssuer {
  const certificate = new X509Certificate(authority.certificatePem);
  const signingKey = createPrivateKey(authority.keyPem);
  const issuer = certificate.subject.replace(/^CN=/, "");
  const authorityKey = keyIdentifier(createPublicKey(signingKey));
  const authorityEnd = Date.parse(certificate.validTo);
  const leaf = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keyPem = leaf.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  return {
    issue(host, now) {
      if (!hostName.test(host) && ipBytes(host) === null)
        throw new RangeError(`not a host: ${JSON.stringify(host)}`);
      if (!permitsHost(certificate, host)) throw new RangeError(`the authority may not sign for ${host}`);
      if (now > authorityEnd) throw new RangeError("the authority has expired");
      const notBefore = now - leafBackdateDays * DAY_MS;
      const notAfter = Math.min(now + leafDays * DAY_MS, authorityEnd);
      const certificatePem = issueCertificate({
        // The space keeps it from being a host name, which OpenSSL would check against the constraints of an IP leaf.
        subject: `meter ${host}`.slice(0, 64), // X.520's limit
        issuer,
        publicKey: leaf.publicKey,
        signingKey,
        notBefore,
        notAfter,
        extensions: serverExtensions(leaf.publicKey, authorityKey, host),
      });
      return { certificatePem, keyPem, notBefore, notAfter };
    },
  };
}
