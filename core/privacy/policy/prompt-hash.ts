import type { Sha256 } from "../../values/hash.ts";
import { hashBytes } from "../../values/hash-text.ts";

/** The values of `[cloud.upload] prompt_hash_kind`. */
export const PROMPT_HASH_KINDS = ["auto", "plain", "keyed"] as const;

/** `auto`: keyed if the workspace gave this machine a key, plain otherwise. */
export type PromptHashKind = (typeof PROMPT_HASH_KINDS)[number];

/**
 * The default. Decision: an older cloud offers no key and gets the plain hash of docs/specification.md#prompt-hash. A cloud
 * that offers a key reads `prompt_hash_kind`; a keyed hash alone cannot be used to test guesses of the prompt.
 */
export const PROMPT_HASH_KIND_DEFAULT: PromptHashKind = "auto";

/** How `prompt_hash` leaves the machine. `withheld`: a keyed hash is configured and there is no key. */
export type PromptHashForm =
  | { readonly kind: "plain" }
  | { readonly kind: "withheld" }
  | { readonly kind: "keyed"; readonly keyHex: string; readonly sha256: Sha256 };

/** Resolves the setting with the key from pairing, if any: 64 hexadecimal digits. */
export function choosePromptHashForm(
  setting: PromptHashKind,
  keyHex: string | null,
  sha256: Sha256,
): PromptHashForm {
  if (setting === "plain") return { kind: "plain" };
  if (keyHex !== null) return { kind: "keyed", keyHex, sha256 };
  return { kind: setting === "keyed" ? "withheld" : "plain" };
}

/** Returns the two outgoing fields for a plain hash of 64 hexadecimal digits, or null. */
export function toPromptHashFields(
  plainHex: string | null,
  form: PromptHashForm,
): { prompt_hash: string | null; prompt_hash_kind: "plain" | "keyed" | null } {
  if (plainHex === null || form.kind === "withheld") return { prompt_hash: null, prompt_hash_kind: null };
  if (form.kind === "plain") return { prompt_hash: plainHex, prompt_hash_kind: "plain" };
  const keyed = hmacSha256(fromHex(form.keyHex), fromHex(plainHex), form.sha256);
  return { prompt_hash: keyed, prompt_hash_kind: "keyed" };
}

/** SHA-256's block, bytes. Source: FIPS 180-4, section 5.2.1. */
const BLOCK_BYTES = 64;

/** Computes HMAC-SHA-256 (RFC 2104) in lower-case hex, for a key of at most one block. */
export function hmacSha256(key: Uint8Array, message: Uint8Array, sha256: Sha256): string {
  if (key.length > BLOCK_BYTES)
    throw new RangeError(`the key has more than ${BLOCK_BYTES} bytes: ${key.length}`);
  const pad = (byte: number) => Uint8Array.from({ length: BLOCK_BYTES }, (_, at) => (key[at] ?? 0) ^ byte);
  return hashBytes(concatenate(pad(0x5c), sha256(concatenate(pad(0x36), message))), sha256);
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) =>
    Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16),
  );
}
