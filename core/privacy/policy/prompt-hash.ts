import type { Sha256 } from "../../values/hash.ts";
import { fromHex, hmacSha256 } from "../../values/hmac.ts";

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
