import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { createServer, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import {
  type Der,
  derTrue,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  tagged,
  unsignedInteger,
  utf8String,
} from "../../../adapters/certificates/der.ts";
import {
  ipBytes,
  issueCertificate,
  keyIdentifier,
  SERVER_AUTHENTICATION,
} from "../../../adapters/certificates/issue-certificate.ts";
import { createLeafIssuer } from "../../../adapters/certificates/leaf-issuer.ts";
import type { CertificatePair } from "../../../core/ports/certificates.ts";

const DAY_MS = 86_400_000;

/** A certificate made by an attacker with the authority's stolen key, and the host that it is presented for. */
export interface ForgedLeaf {
  readonly name: string;
  readonly host: string;
  /** What a server sends: the leaf and the intermediate certificates. */
  readonly chain: CertificatePair;
}

const text = (tag: number, value: string): Der => tagged(tag, new TextEncoder().encode(value));
const commonName = (value: string): Der =>
  sequence(setOf(sequence(objectIdentifier("2.5.4.3"), utf8String(value))));

/** The leaves that have a common name and no name that constraints apply to, by `ForgedLeaf.name`. */
export const COMMON_NAME_ALONE: readonly string[] = [
  "common name, no name in the list",
  "common name, directory name",
  "common name, registered name",
  "common name, other name",
];

/** The kinds of names in a certificate. Source: RFC 5280, section 4.2.1.6. */
export const names = {
  other: (value: string) => tagged(0xa0, objectIdentifier("1.2.3.4"), tagged(0xa0, utf8String(value))),
  email: (value: string) => text(0x81, value),
  dns: (value: string) => text(0x82, value),
  directory: (value: string) => tagged(0xa4, commonName(value)),
  uri: (value: string) => text(0x86, value),
  address: (value: string) => tagged(0x87, ipBytes(value) ?? new Uint8Array()),
  registered: (value: string) => tagged(0x88, objectIdentifier(value).subarray(2)),
};

interface Forgery {
  readonly subject: string | null;
  /** Null if the certificate has no such extension. */
  readonly names: readonly Der[] | null;
  readonly usage?: string;
}

const extension = (id: string, critical: boolean, value: Uint8Array): Der =>
  sequence(objectIdentifier(id), ...(critical ? [derTrue()] : []), octetString(value));

/** The authority's name, as a leaf's issuer. */
export const subjectOf = (authority: CertificatePair): string =>
  new X509Certificate(authority.certificatePem).subject.replace(/^CN=/, "");

/** Signs a leaf with the authority's key, even if the authority may not issue it. */
export function forge(
  signer: CertificatePair,
  issuer: string,
  { subject, names, usage = SERVER_AUTHENTICATION }: Forgery,
): CertificatePair {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const signingKey = createPrivateKey(signer.keyPem);
  const certificatePem = issueCertificate({
    subject,
    issuer,
    publicKey,
    signingKey,
    notBefore: Date.now() - DAY_MS,
    notAfter: Date.now() + DAY_MS,
    extensions: [
      extension("2.5.29.19", true, sequence()),
      extension("2.5.29.37", false, sequence(objectIdentifier(usage))),
      extension("2.5.29.35", false, sequence(tagged(0x80, keyIdentifier(createPublicKey(signingKey))))),
      ...(names === null ? [] : [extension("2.5.29.17", subject === null, sequence(...names))]),
    ],
  });
  return { certificatePem, keyPem: privateKey.export({ format: "pem", type: "pkcs8" }).toString() };
}

/** An intermediate authority without constraints, signed by the real one. */
function forgeAuthority(signer: CertificatePair, issuer: string): CertificatePair {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const certificatePem = issueCertificate({
    subject: "authority below",
    issuer,
    publicKey,
    signingKey: createPrivateKey(signer.keyPem),
    notBefore: Date.now() - DAY_MS,
    notAfter: Date.now() + DAY_MS,
    extensions: [
      extension("2.5.29.19", true, sequence(derTrue(), unsignedInteger(Uint8Array.of(0)))),
      extension("2.5.29.14", false, octetString(keyIdentifier(publicKey))),
    ],
  });
  return { certificatePem, keyPem: privateKey.export({ format: "pem", type: "pkcs8" }).toString() };
}

/** Leaves that clients must accept, as the proxy issues them. The hosts must be in the authority's list. */
export function ownLeaves(authority: CertificatePair, hosts: readonly string[]): ForgedLeaf[] {
  const issuer = createLeafIssuer(authority);
  return hosts.map((host) => ({ name: `own leaf for ${host}`, host, chain: issuer.issue(host, Date.now()) }));
}

/**
 * Leaves that no client may accept, although they are signed with the authority's key. `permitted` is an exact host of the
 * authority's list, `victim` any host that is not in it; each leaf is presented for its own host.
 */
export function forgedLeaves(
  authority: CertificatePair,
  { permitted, victim }: { readonly permitted: string; readonly victim: string },
): ForgedLeaf[] {
  const issuer = subjectOf(authority);
  let count = 0;
  const leaf = (name: string, forgery: (host: string) => Forgery, host?: string): ForgedLeaf => {
    const shownFor = host ?? `f${(count += 1)}.${victim}`;
    return { name, host: shownFor, chain: forge(authority, issuer, forgery(shownFor)) };
  };
  const withCommonName = (name: string, ...others: Der[]) =>
    leaf(`common name, ${name}`, (host) => ({ subject: host, names: others }));
  const below = forgeAuthority(authority, issuer);
  const underBelow = forge(below, "authority below", {
    subject: null,
    names: [names.dns(`below.${victim}`)],
  });
  return [
    leaf("DNS name", (host) => ({ subject: null, names: [names.dns(host)] })),
    leaf("DNS name in capitals", (host) => ({ subject: null, names: [names.dns(host.toUpperCase())] })),
    leaf("DNS name beside a permitted one", (host) => ({
      subject: null,
      names: [names.dns(permitted), names.dns(host)],
    })),
    leaf("wildcard", (host) => ({ subject: null, names: [names.dns(host.replace(/^[^.]+/, "*"))] })),
    leaf(
      "DNS name below a permitted host",
      (host) => ({ subject: null, names: [names.dns(host)] }),
      `evil.${permitted}`,
    ),
    leaf(
      "wildcard below a permitted host",
      (host) => ({ subject: null, names: [names.dns(`*.${host.slice(5)}`)] }),
      `wild.${permitted}`,
    ),
    leaf(
      "DNS name of the same domain",
      (host) => ({ subject: null, names: [names.dns(host)] }),
      `sibling${permitted.slice(permitted.indexOf("."))}`,
    ),
    leaf("address", (host) => ({ subject: null, names: [names.address(host)] }), "203.0.113.7"),
    leaf(
      "IPv6 address",
      (host) => ({ subject: null, names: [names.address(host.slice(1, -1))] }),
      "[2001:db8::7]",
    ),
    leaf("common name, no other names", (host) => ({ subject: host, names: null })),
    withCommonName("no name in the list"),
    withCommonName("permitted DNS name", names.dns(permitted)),
    withCommonName("e-mail address", names.email("a@attacker.example")),
    withCommonName("e-mail address of a permitted host", names.email(`a@${permitted}`)),
    withCommonName("e-mail address of no domain", names.email("a@invalid")),
    withCommonName("URI", names.uri("https://attacker.example/")),
    withCommonName("URI of a permitted host", names.uri(`https://${permitted}/`)),
    withCommonName("URI of no domain", names.uri("https://invalid/")),
    withCommonName("URI without a host", names.uri("urn:x:y")),
    withCommonName("address", names.address("203.0.113.8")),
    withCommonName("directory name", names.directory("x")),
    withCommonName("registered name", names.registered("1.2.3.4")),
    withCommonName("other name", names.other("x")),
    leaf("URI with the host, no common name", (host) => ({
      subject: null,
      names: [names.uri(`https://${host}/`)],
    })),
    {
      name: "leaf below an authority below",
      host: `below.${victim}`,
      chain: { keyPem: underBelow.keyPem, certificatePem: underBelow.certificatePem + below.certificatePem },
    },
  ];
}

/** A proxy that presents each leaf for its host, and records the hosts to which a client then sent a request. */
export interface LeafProxy {
  readonly port: number;
  readonly accepted: ReadonlySet<string>;
  /** The hosts to which a client connected. */
  readonly asked: ReadonlySet<string>;
  reset(): void;
  close(): void;
}

/** Starts the proxy. Clients find it through their proxy variables, as they find the meter. */
export function startLeafProxy(leaves: readonly ForgedLeaf[]): Promise<LeafProxy> {
  const accepted = new Set<string>();
  const asked = new Set<string>();
  const contexts = new Map(
    leaves.map(({ host, chain }) => [
      host,
      createSecureContext({ cert: chain.certificatePem, key: chain.keyPem }),
    ]),
  );
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.once("data", (head) => {
      const host = /^CONNECT (\S+):443 /.exec(head.toString("latin1"))?.[1] ?? "";
      const secureContext = contexts.get(host);
      if (secureContext === undefined) {
        socket.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
        return;
      }
      asked.add(host);
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      const secure = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: ["http/1.1"] });
      secure.on("error", () => {});
      secure.once("data", () => {
        accepted.add(host);
        secure.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
      });
    });
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      resolve({
        port: (server.address() as { port: number }).port,
        accepted,
        asked,
        reset() {
          accepted.clear();
          asked.clear();
        },
        close() {
          for (const socket of sockets) socket.destroy();
          server.close();
        },
      });
    });
  });
}
