import {
  openCertificateAuthority,
  openTrustedAuthority,
} from "../../../adapters/certificates/certificate-authority.ts";
import {
  type AuthorityInspection,
  inspectCertificateAuthority,
} from "../../../adapters/certificates/inspect-authority.ts";
import { describeAddedHosts } from "../../../core/operations/doctor/added-hosts.ts";
import type { CertificatePair } from "../../../core/ports/certificates.ts";
import { authorityFiles } from "../../home/prepare-home.ts";
import { findTrustedCertificate, listUnpermitted } from "../../install/trusted-authority.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The command that replaces the certificate that programs trust. */
const RENEW = "meter init --yes";

/**
 * Opens the certificate authority of a home and adds warnings to `warnings`. If programs trust a certificate of it that only
 * `meter init` may replace, opens it with that one: calls to hosts that it does not permit are then tunnelled. Null if the trusted
 * certificate can't be used any more, so that every call over TLS is tunnelled.
 */
export async function openAuthority(
  home: string,
  env: Environment,
  hosts: readonly string[],
  warnings: string[],
): Promise<CertificatePair | null> {
  const options = { directory: authorityFiles(home).caFolder, hosts, now: Date.now() };
  const inspection = inspectCertificateAuthority(options);
  const trusted = await findTrustedCertificate(home, env, inspection);
  if (trusted === null) {
    const issued = openCertificateAuthority(options);
    warnings.push(...issued.warnings);
    return { certificatePem: issued.certificatePem, keyPem: issued.keyPem };
  }
  const { certificatePem } = trusted;
  const opened = certificatePem === null ? null : openTrustedAuthority({ ...options, certificatePem });
  warnings.push(...(opened?.warnings ?? []));
  const authority = opened?.authority ?? null;
  warnings.push(...renewalWarnings(authority, inspection, hosts).map((warning) => `${warning}: ${RENEW}`));
  return authority;
}

/** Describes why the trusted certificate should be renewed. */
function renewalWarnings(
  authority: CertificatePair | null,
  { state, validUntil }: AuthorityInspection,
  hosts: readonly string[],
): string[] {
  if (authority === null)
    return [
      "No call over TLS is metered, because the certificate authority that programs trust has expired or was deleted. Trust a new one",
    ];
  const added = listUnpermitted(authority.certificatePem, hosts);
  const lastDay = state === "expiring" && validUntil !== null ? new Date(validUntil).toISOString() : null;
  return [
    ...(added.length > 0 ? [`${describeAddedHosts(added)} Meter them`] : []),
    ...(lastDay !== null ? [`The certificate authority expires on ${lastDay.slice(0, 10)}. Renew it`] : []),
  ];
}
