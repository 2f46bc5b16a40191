import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import type { Millis } from "../../core/time.ts";
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

/** What goes into one X.509 version 3 certificate (RFC 5280) signed with ECDSA and SHA-256. */
export interface CertificateTemplate {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly signingKey: KeyObject;
  readonly notBefore: Millis;
  readonly notAfter: Millis;
  readonly extensions: readonly Der[];
}

const ecdsaWithSha256 = sequence(objectIdentifier("1.2.840.10045.4.3.2"));

const name = (commonName: string): Der =>
  sequence(setOf(sequence(objectIdentifier("2.5.4.3"), utf8String(commonName))));

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

const dnsName = (host: string): Der => tagged(0x82, new TextEncoder().encode(host));
const ipAddress = (bytes: Uint8Array): Der => tagged(0x87, bytes);

/**
 * Name constraints (RFC 5280, section 4.2.1.10) that permit the hosts and, as the RFC has it for DNS names, what lies
 * below them; a leading `*.` is taken off. A kind of name of which the list has none is forbidden altogether.
 */
export function nameConstraints(hosts: readonly string[]): Der {
  const addresses = hosts.flatMap((host) => ipBytes(host) ?? []).length > 0;
  const names = hosts.filter((host) => ipBytes(host) === null).map((host) => host.replace(/^\*\./, ""));
  const permitted = [
    ...(names.length > 0 ? names : ["invalid"]).map((host) => sequence(dnsName(host))),
    ...hosts.flatMap((host) => {
      const bytes = ipBytes(host);
      return bytes ? [sequence(ipAddress(Uint8Array.of(...bytes, ...bytes.map(() => 0xff))))] : [];
    }),
  ];
  const excluded = addresses ? [] : [8, 32].map((size) => sequence(ipAddress(new Uint8Array(size))));
  return extension(
    "2.5.29.30",
    true,
    sequence(tagged(0xa0, ...permitted), ...(excluded.length > 0 ? [tagged(0xa1, ...excluded)] : [])),
  );
}

/** The extensions of a certificate authority that may sign servers for these hosts and no further authority. */
export function authorityExtensions(publicKey: KeyObject, hosts: readonly string[]): Der[] {
  return [
    extension("2.5.29.19", true, sequence(derTrue(), unsignedInteger(Uint8Array.of(0)))),
    extension("2.5.29.15", true, bitString(Uint8Array.of(0x06), 1)), // keyCertSign, cRLSign
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
    extension("2.5.29.37", false, sequence(objectIdentifier("1.3.6.1.5.5.7.3.1"))), // serverAuth
    subjectKeyIdentifier(publicKey),
    extension("2.5.29.35", false, sequence(tagged(0x80, authorityKey))),
    extension("2.5.29.17", false, sequence(bytes ? ipAddress(bytes) : dnsName(host))),
  ];
}

/** Signs a certificate and gives it in PEM. */
export function issueCertificate(template: CertificateTemplate): string {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40; // positive, and no leading zero
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
