import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const dayMs = 86_400_000;

/** A temporary certificate authority, in place of the public ones that real providers use. */
export interface CertificateAuthority {
  certificatePem: string;
  /** Issues a certificate for a host and returns it with its key, as PEM. */
  mintLeaf(host: string): Promise<{ cert: string; key: string }>;
  /** Returns the TLS context of a host, created on the first call and cached. */
  secureContext(host: string): Promise<SecureContext>;
}

/**
 * Creates an authority with a new P-256 key in memory, valid for one day. A client that trusts two of them needs different
 * names, because issuers are looked up by name.
 */
export async function createCertificateAuthority(
  name = "Simulated providers root",
): Promise<CertificateAuthority> {
  const crypto = webcrypto;
  const notBefore = new Date(Date.now() - dayMs);
  const notAfter = new Date(Date.now() + dayMs);
  const keys = await crypto.subtle.generateKey(algorithm, false, ["sign", "verify"]);
  const issuer = `CN=${name}`;
  const root = await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: randomSerial(),
      name: issuer,
      notBefore,
      notAfter,
      signingAlgorithm: algorithm,
      keys,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      ],
    },
    crypto,
  );

  async function mint(host: string): Promise<{ cert: string; key: string }> {
    const leafKeys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const leaf = await X509CertificateGenerator.create(
      {
        serialNumber: randomSerial(),
        subject: `CN=${host}`,
        issuer,
        notBefore,
        notAfter,
        signingAlgorithm: algorithm,
        publicKey: leafKeys.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
          new SubjectAlternativeNameExtension([{ type: isIpAddress(host) ? "ip" : "dns", value: host }]),
        ],
      },
      crypto,
    );
    const pkcs8 = await crypto.subtle.exportKey("pkcs8", leafKeys.privateKey);
    return { key: PemConverter.encode(pkcs8, "PRIVATE KEY"), cert: leaf.toString("pem") };
  }

  const contexts = new Map<string, Promise<SecureContext>>();
  return {
    certificatePem: `${root.toString("pem")}\n`,
    mintLeaf: mint,
    secureContext(host) {
      let context = contexts.get(host);
      if (context === undefined) contexts.set(host, (context = mint(host).then(createSecureContext)));
      return context;
    },
  };
}

function isIpAddress(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.includes(":");
}

function randomSerial(): string {
  return Buffer.from(webcrypto.getRandomValues(new Uint8Array(8)))
    .toString("hex")
    .replace(/^[89a-f]/, "1");
}
