/** Encodes the parts of ASN.1 DER (ITU-T X.690) that a certificate needs. Decodes nothing. */

/** One encoded value. */
export type Der = Uint8Array<ArrayBuffer>;

function concat(parts: readonly Uint8Array[]): Der {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Encodes a value with the given identifier octet and the concatenated parts as contents. */
export function tagged(tag: number, ...parts: readonly Uint8Array[]): Der {
  const contents = concat(parts);
  const length: number[] = [];
  for (let rest = contents.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
  const header = contents.length < 0x80 ? [tag, contents.length] : [tag, 0x80 | length.length, ...length];
  return concat([Uint8Array.from(header), contents]);
}

/** SEQUENCE. */
export const sequence = (...parts: readonly Uint8Array[]): Der => tagged(0x30, ...parts);

/** SET of one member (more would have to be sorted). */
export const setOf = (member: Uint8Array): Der => tagged(0x31, member);

/** BOOLEAN TRUE. FALSE is always a default in certificates, and DER omits defaults. */
export const derTrue: () => Der = () => tagged(0x01, Uint8Array.of(0xff));

/** INTEGER from an unsigned big-endian number without leading zeros. */
export function unsignedInteger(bytes: Uint8Array): Der {
  return tagged(0x02, (bytes[0] ?? 0) >= 0x80 ? Uint8Array.of(0) : new Uint8Array(), bytes);
}

/** OCTET STRING. */
export const octetString = (bytes: Uint8Array): Der => tagged(0x04, bytes);

/** BIT STRING whose last `unusedBits` bits are unused. */
export const bitString = (bytes: Uint8Array, unusedBits = 0): Der =>
  tagged(0x03, Uint8Array.of(unusedBits), bytes);

/** UTF8String. */
export const utf8String = (text: string): Der => tagged(0x0c, new TextEncoder().encode(text));

/** OBJECT IDENTIFIER from its dotted form. */
export function objectIdentifier(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes: number[] = [];
  for (const arc of [first * 40 + second, ...rest]) {
    const group = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) {
      group.unshift((left % 128) | 0x80);
    }
    bytes.push(...group);
  }
  return tagged(0x06, Uint8Array.from(bytes));
}

/** UTCTime until 2049, GeneralizedTime from 2050 (RFC 5280, section 4.1.2.5), whole seconds. */
export function time(epochMs: number): Der {
  const text = new Date(epochMs).toISOString().replace(/[-:T]/g, "").slice(0, 14);
  const short = text < "2050";
  return tagged(short ? 0x17 : 0x18, new TextEncoder().encode(`${short ? text.slice(2) : text}Z`));
}
