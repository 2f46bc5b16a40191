import { createSecureContext, DEFAULT_CIPHERS, type SecureContext } from "node:tls";
import type { LeafIssuer } from "../../core/ports/certificates.ts";

/** TLS contexts with a certificate for each intercepted host. */
export interface LeafContexts {
  /** Returns the context for a host, created on demand; null if no certificate can be issued. */
  find(host: string): SecureContext | null;
}

/** Maximum number of cached hosts; the least recently used is removed first. */
const maxHosts = 512;

/**
 * The ciphers offered to clients. The default prefers AES-256 with SHA-384, which gains nothing on the loopback and costs each
 * handshake a twentieth of its CPU time: processors have instructions for SHA-256.
 */
const CIPHERS = `TLS_AES_128_GCM_SHA256:${DEFAULT_CIPHERS}`;

/** A certificate is replaced after this share of its validity period. */
const renewAfterFraction = 2 / 3;

/** Creates a cache of the TLS contexts that the issuer's certificates make. */
export function createLeafContexts(issuer: LeafIssuer, now: () => number): LeafContexts {
  const cached = new Map<string, { context: SecureContext; from: number; until: number }>();
  return {
    find(host) {
      const at = now();
      let found = cached.get(host);
      if (found === undefined || at < found.from || at > found.until) {
        try {
          const leaf = issuer.issue(host, at);
          found = {
            context: createSecureContext({
              cert: leaf.certificatePem,
              key: leaf.keyPem,
              minVersion: "TLSv1.2",
              ciphers: CIPHERS,
              honorCipherOrder: true,
              sessionIdContext: "meter", // OpenSSL requires one to resume sessions
            }),
            from: leaf.notBefore,
            until: leaf.notBefore + (leaf.notAfter - leaf.notBefore) * renewAfterFraction,
          };
        } catch {
          return null; // the connection is tunnelled unread and counted
        }
      }
      cached.delete(host);
      cached.set(host, found);
      for (const oldest of cached.keys()) {
        if (cached.size <= maxHosts) break;
        cached.delete(oldest);
      }
      return found.context;
    },
  };
}
