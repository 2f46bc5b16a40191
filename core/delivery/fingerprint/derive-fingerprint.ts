import type { Sha256 } from "../../values/hash.ts";
import { hashText } from "../../values/hash-text.ts";

/** Hexadecimal digits of a fingerprint. Source: docs/specification.md#limits. */
export const FINGERPRINT_LENGTH = 32;

/** What is known about the machine; `null` for what is not. */
export interface MachineFacts {
  /** The platform's id of the hardware or installation. */
  readonly platformId: string | null;
  readonly hostname: string | null;
  /** The address of a network card, in any spelling. */
  readonly mac: string | null;
}

/** Placeholders of firmware without an id. If they counted as ids, all such machines would be the same one. */
const PLACEHOLDERS =
  /^(?:[0\W]+|[f\W]+|none|unknown|not (?:specified|applicable|available)|default string|system serial number|to be filled by o\.?e\.?m\.?|03000200-0400-0500-0006-000700080009)$/i;

/**
 * Derives a machine's fingerprint: the first 32 hex digits of the SHA-256 of the platform's id or, without one, of host name
 * and MAC address. Returns `null` if neither is known or anything fails; never throws. Source: docs/specification.md#local-state-tables.
 *
 * Decision: a firmware placeholder is no id, and zeros are no MAC address.
 */
export function deriveFingerprint(facts: MachineFacts, sha256: Sha256): string | null {
  try {
    const identity = identityOf(facts);
    return identity === null ? null : hashText(identity, sha256).slice(0, FINGERPRINT_LENGTH);
  } catch {
    return null;
  }
}

/** Whether a text is a fingerprint, such as one cached in `<meter_home>/machine-id`. */
export function isFingerprint(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

function identityOf({ platformId, hostname, mac }: MachineFacts): string | null {
  const id = platformId?.trim().toLowerCase() ?? "";
  if (id !== "" && !PLACEHOLDERS.test(id)) return id;
  const host = hostname?.trim().toLowerCase() ?? "";
  const card = mac?.toLowerCase().replaceAll(/[^0-9a-f]/g, "") ?? "";
  return host === "" || /^0*$/.test(card) ? null : `${host}${card}`;
}
