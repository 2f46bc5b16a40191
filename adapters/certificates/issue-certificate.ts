import { createHash, type KeyObject, randomBytes, sign, type X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { Millis } from "../../core/values/time.ts";
import {
  bitString,
  type Der,
  derTrue,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  tagged,
  time,
  unsignedInteger,
  utf8String,
} from "./der.ts";

/** The contents of an X.509 version 3 certificate (RFC 5280) signed with ECDSA and SHA-256. */
interface CertificateTemplate {
  /** The common name; null for an empty subject. */
  readonly subject: string | null;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly signingKey: KeyObject;
  readonly notBefore: Millis;
  readonly notAfter: Millis;
  readonly extensions: readonly Der[];
}

const ecdsaWithSha256 = sequence(objectIdentifier("1.2.840.10045.4.3.2"));

const name = (commonName: string | null): Der =>
  commonName === null
    ? sequence()
    : sequence(setOf(sequence(objectIdentifier("2.5.4.3"), utf8String(commonName))));

const extension = (id: string, critical: boolean, value: Uint8Array): Der =>
  sequence(objectIdentifier(id), ...(critical ? [derTrue()] : []), octetString(value));

/** SHA-1 of the key's bits, the key identifier of RFC 5280, section 4.2.1.2 (1). */
export function keyIdentifier(publicKey: KeyObject): Uint8Array {
  const jwk = publicKey.export({ format: "jwk" });
  const point = Buffer.concat([
    Buffer.of(4),
    Buffer.from(jwk.x ?? "", "base64url"),
    Buffer.from(jwk.y ?? "", "base64url"),
  ]);
  return createHash("sha1").update(point).digest();
}

const subjectKeyIdentifier = (publicKey: KeyObject): Der =>
  extension("2.5.29.14", false, octetString(keyIdentifier(publicKey)));

/** The bytes of an IP address in network order, or `null` for a name. */
export function ipBytes(host: string): Uint8Array | null {
  const family = isIP(host);
  if (family === 4) return Uint8Array.from(host.split(".").map(Number));
  if (family !== 6 || host.includes("%")) return null;
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(host);
  const text = dotted
    ? dotted[1] +
      [0, 2].map((i) => (Number(dotted[2 + i]) * 256 + Number(dotted[3 + i])).toString(16)).join(":")
    : host;
  const [head = "", tail] = text.split("::");
  const groups = (part: string | undefined) =>
    part ? part.split(":").map((hex) => Number.parseInt(hex, 16)) : [];
  const left = groups(head);
  const right = groups(tail);
  const all =
    tail === undefined ? left : [...left, ...Array(8 - left.length - right.length).fill(0), ...right];
  return Uint8Array.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

/** A reserved top-level domain (RFC 6761, section 6.4). Both permitted and excluded, it permits nothing. */
const RESERVED_DOMAIN = "invalid";

const ia5String = (tag: number, text: string): Der => tagged(tag, new TextEncoder().encode(text));
const emailAddress = (text: string): Der => ia5String(0x81, text);
const dnsName = (host: string): Der => ia5String(0x82, host);
const uri = (text: string): Der => ia5String(0x86, text);
const ipAddress = (bytes: Uint8Array): Der => tagged(0x87, bytes);
/** A range with one address: the address and a mask of ones. */
const singleAddress = (bytes: Uint8Array): Der =>
  ipAddress(Uint8Array.of(...bytes, ...bytes.map(() => 0xff)));

const subtrees = (tag: number, names: readonly Der[]): Der =>
  tagged(tag, ...names.map((each) => sequence(each)));

/** Returns the exact hosts that have no subdomain in the list. */
function hostsWithNoneBelow(hosts: readonly string[]): string[] {
  const names = hosts.map((host) => host.replace(/^\*/, ""));
  return hosts.filter((host) => !host.startsWith("*.") && !names.some((each) => each.endsWith(`.${host}`)));
}

/**
 * Returns name constraints (RFC 5280, section 4.2.1.10) that permit the hosts and as little else as possible.
 *
 * - A permitted DNS name includes all its subdomains. For an exact host, they are excluded by a name with a leading dot. The RFC
 *   does not define this form for DNS names, but every tested client reads it as "the subdomains, not the name itself".
 * - No email address and no URI is permitted, and no IP address of a family that is not in the list.
 *
 * Decision: directory names, including the subject, are not constrained. With such a constraint, Rust's verifier (Deno, Codex)
 * refuses every leaf certificate, and Go's refuses the authority itself. A forged leaf with a host only in its common name
 * is therefore refused only by clients that ignore or constrain common names: all except Bun and `node:tls` on Deno. See T23
 * in docs/threats.md.
 */
export function nameConstraints(hosts: readonly string[]): Der {
  const ranges = hosts.flatMap((host) => {
    const bytes = ipBytes(host);
    return bytes ? [singleAddress(bytes)] : [];
  });
  const names = hosts.filter((host) => ipBytes(host) === null);
  const none = [emailAddress(RESERVED_DOMAIN), uri(RESERVED_DOMAIN)];
  // All addresses of a family: an address and a mask of zeros.
  const families = [8, 32].map((bytes) => ipAddress(new Uint8Array(bytes)));
  return extension(
    "2.5.29.30",
    true,
    sequence(
      subtrees(0xa0, [
        ...(names.length > 0 ? names : [RESERVED_DOMAIN]).map((host) => dnsName(host.replace(/^\*\./, ""))),
        ...ranges,
        ...none,
      ]),
      subtrees(0xa1, [
        ...hostsWithNoneBelow(names).map((host) => dnsName(`.${host}`)),
        ...(names.length > 0 ? [] : [dnsName(RESERVED_DOMAIN)]),
        ...families.filter((family) => ranges.every(({ length }) => length !== family.length)),
        ...none,
      ]),
    ),
  );
}

/**
 * Whether an authority with constraints of `nameConstraints()` may sign for the host, or for all hosts of a pattern such as
 * `*.example.com`. Another program's certificate permits none.
 */
export function permitsHost({ raw }: X509Certificate, host: string): boolean {
  // A permitted name never begins with a dot and an excluded one does, so the bytes of a name show which list it is in.
  const lists = (name: Der) => raw.includes(Buffer.from(sequence(name)));
  const bytes = ipBytes(host);
  if (bytes !== null) return lists(singleAddress(bytes));
  const [name = "", ...above] = host.split(".").map((_, index, labels) => labels.slice(index).join("."));
  return (
    [name, ...above].some((each) => lists(dnsName(each))) && !above.some((each) => lists(dnsName(`.${each}`)))
  );
}

/** The purpose of a TLS server's certificate (RFC 5280, section 4.2.1.12). */
export const SERVER_AUTHENTICATION = "1.3.6.1.5.5.7.3.1";

const serverAuthentication = (): Der =>
  extension("2.5.29.37", false, sequence(objectIdentifier(SERVER_AUTHENTICATION)));

/** The extensions of a certificate authority that may sign TLS servers for these hosts, and nothing else. */
export function authorityExtensions(publicKey: KeyObject, hosts: readonly string[]): Der[] {
  return [
    extension("2.5.29.19", true, sequence(derTrue(), unsignedInteger(Uint8Array.of(0)))),
    extension("2.5.29.15", true, bitString(Uint8Array.of(0x04), 2)), // keyCertSign
    serverAuthentication(),
    subjectKeyIdentifier(publicKey),
    nameConstraints(hosts),
  ];
}

/** The extensions of a TLS server's certificate for one host. */
export function serverExtensions(publicKey: KeyObject, authorityKey: Uint8Array, host: string): Der[] {
  const bytes = ipBytes(host);
  return [
    extension("2.5.29.19", true, sequence()),
    extension("2.5.29.15", true, bitString(Uint8Array.of(0x80), 7)), // digitalSignature
    serverAuthentication(),
    subjectKeyIdentifier(publicKey),
    extension("2.5.29.35", false, sequence(tagged(0x80, authorityKey))),
    extension("2.5.29.17", false, sequence(bytes ? ipAddress(bytes) : dnsName(host))),
  ];
}

/** Signs a certificate and returns it as PEM. */
export function issueCertificate(template: CertificateTemplate): string {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40; // positive, without a leading zero
  const body = sequence(
    tagged(0xa0, unsignedInteger(Uint8Array.of(2))), // version 3
    unsignedInteger(serial),
    ecdsaWithSha256,
    name(template.issuer),
    sequence(time(template.notBefore), time(template.notAfter)),
    name(template.subject),
    template.publicKey.export({ format: "der", type: "spki" }),
    tagged(0xa3, sequence(...template.extensions)),
  );
  const signature = sign("sha256", body, template.signingKey);
  const whole = Buffer.from(sequence(body, ecdsaWithSha256, bitString(signature)));
  const lines = whole.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
