/**
 * The fingerprint by which a machine is known again when it pairs anew. Nothing of the hardware's id leaves the machine:
 * only 32 digits of its hash.
 *
 * ```ts
 * import { createHash } from "node:crypto";
 * import { deriveFingerprint } from "./mod.ts";
 *
 * const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();
 * deriveFingerprint({ platformId: "abc", hostname: null, mac: null }, sha256); // "ba7816bf8f01cfea414140de5dae2223"
 * deriveFingerprint({ platformId: null, hostname: "laptop", mac: null }, sha256); // null
 * ```
 *
 * @module
 */
export {
  deriveFingerprint,
  FINGERPRINT_LENGTH,
  isFingerprint,
  type MachineFacts,
} from "./derive-fingerprint.ts";
