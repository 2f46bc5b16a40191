import { X509Certificate } from "node:crypto";
import {
  type AuthorityInspection,
  inspectCertificateAuthority,
} from "../../adapters/certificates/inspect-authority.ts";
import { permitsHost } from "../../adapters/certificates/issue-certificate.ts";
import { readInstallRecord } from "../../adapters/installer/install-record.ts";
import { isAuthorityTrusted } from "../../core/operations/install/step.ts";
import { authorityFiles } from "../home/prepare-home.ts";
import { findInSystemList, pickListed } from "./system-trust.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A certificate that programs trust independently of `meter run`. Only `meter init` may replace it, because they would reject
 * another one.
 */
export interface TrustedCertificate {
  /** Null if it is lost. */
  readonly certificatePem: string | null;
}

/**
 * Returns the certificate of a home's authority that programs trust: as `meter init` recorded it, or as root put it into the
 * system's list by hand. Null if there is none, or if it is known to be the current one.
 */
export async function findTrustedCertificate(
  home: string,
  env: Environment,
  { state, certificatePem }: AuthorityInspection,
  findInSystem: typeof findInSystemList = findInSystemList,
): Promise<TrustedCertificate | null> {
  const record = await readInstallRecord(home).catch(() => "unreadable" as const);
  if (record === "unreadable") return { certificatePem };
  if (record?.authority !== undefined) return { certificatePem: record.authority };
  if (state === "current") return null;
  // Earlier versions recorded only the steps.
  if (record !== null && isAuthorityTrusted(record)) return { certificatePem };
  if (certificatePem === null) return null;
  const byHand = pickListed(await findInSystem(env, authorityFiles(home).caFile), certificatePem);
  return byHand === null ? null : { certificatePem: byHand };
}

/** Returns the hosts for which an authority with this certificate can't sign. */
export function listUnpermitted(certificatePem: string, hosts: readonly string[]): string[] {
  const certificate = new X509Certificate(certificatePem);
  return hosts.filter((host) => !permitsHost(certificate, host));
}

/** Returns the hosts whose calls over TLS pass unread until `meter init` has renewed the trusted certificate. */
export async function findUnmeteredHosts(
  home: string,
  env: Environment,
  hosts: readonly string[],
): Promise<string[]> {
  const { caFolder } = authorityFiles(home);
  const found = inspectCertificateAuthority({ directory: caFolder, hosts, now: Date.now() });
  const trusted = await findTrustedCertificate(home, env, found);
  return trusted?.certificatePem == null ? [] : listUnpermitted(trusted.certificatePem, hosts);
}

/** Returns the SHA-256 of a certificate. */
export const fingerprintOf = (certificatePem: string): string =>
  new X509Certificate(certificatePem).fingerprint256;
