import { createSecureContext, type SecureContext } from "node:tls";
import type { LeafIssuer } from "../../core/ports/certificates.ts";

/** TLS contexts with a certificate for each intercepted host. */
export interface LeafContexts {
  /** The context for a host, made on demand. `null` where no certificate can be issued. */
  find(host: string): SecureContext | null;
}

/** Hosts kept at once; the least recently used goes first. */
const maxHosts = 512;

/** A certificate is replaced when a third of its life is left. */
const renewAtPart = 2 / 3;

/** Makes a cache of contexts in front of the issuer. */
export function createLeafContexts(issuer: LeafIssuer, now: () => number): LeafContexts {
  const kept = new Map<string, { context: SecureContext; from: number; until: number }>();
  return {
    find(host) {
      const at = now();
      let found = kept.get(host);
      if (found === undefined || at < found.from || at > found.until) {
        try {
          const leaf = issuer.issue(host, at);
          found = {
            context: createSecureContext({
              cert: leaf.certificatePem,
              key: leaf.keyPem,
              minVersion: "TLSv1.2",
              sessionIdContext: "meter", // without one OpenSSL resumes no session
            }),
            from: leaf.notBefore,
            until: leaf.notBefore + (leaf.notAfter - leaf.notBefore) * renewAtPart,
          };
        } catch {
          return null; // the connection is tunnelled unread and counted
        }
      }
      kept.delete(host);
      kept.set(host, found);
      for (const oldest of kept.keys()) {
        if (kept.size <= maxHosts) break;
        kept.delete(oldest);
      }
      return found.context;
    },
  };
}
