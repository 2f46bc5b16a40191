import type { Sha256 } from "../hash.ts";
import { hashText } from "../hash-text.ts";

/** Hexadecimal digits of a fingerprint. Source: contract, "Limits". */
export const FINGERPRINT_LENGTH = 32;

/** What an adapter could learn about the machine; `null` for what it could not. */
export interface MachineFacts {
  /** The platform's id of the hardware or installation. */
  readonly platformId: string | null;
  readonly hostname: string | null;
  /** The address of a network card, in any spelling. */
  readonly mac: string | null;
}

/** What firmware says that has no id of its own; taken for an id, all such machines would be one. */
const PLACEHOLDERS =
  /^(?:[0\W]+|[f\W]+|none|unknown|not (?:specified|applicable|available)|default string|system serial number|to be filled by o\.?e\.?m\.?|03000200-0400-0500-0006-000700080009)$/i;

/**
 * A machine's fingerprint: the SHA-256 of the platform's id, cut to 32 hex digits; without an id, of host name and MAC;
 * `null` where there is neither. Never throws: what fails gives `null`. Source: contract, "Local daemon state records".
 *
 * Decision: an id that is a firmware's placeholder counts as none, and so does a MAC of zeros.
 */
export function deriveFingerprint(facts: MachineFacts, sha256: Sha256): string | null {
  try {
    const identity = identityOf(facts);
    return identity === null ? null : hashText(identity, sha256).slice(0, FINGERPRINT_LENGTH);
  } catch {
    return null;
  }
}

/** Whether the text is a fingerprint, such as one cached in `<meter_home>/machine-id`. */
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
