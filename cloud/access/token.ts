import type { RandomBytes } from "../../core/ports/random.ts";
import type { Sha256 } from "../../core/values/hash.ts";
import { decodeBase64Url, encodeBase64Url } from "../../core/wire/base64.ts";
import type { KeyScope } from "../store/schema.ts";

/** A key's scope, or `invite` for an invitation's token. */
export type TokenKind = KeyScope | "invite";

/** The prefix of each kind of token, by which people and secret scanners recognise it. Source: docs/specification.md#cloud-accounts-and-keys. */
const PREFIXES: Readonly<Record<TokenKind, string>> = {
  sync: "mtr_sync_",
  admin: "mtr_admin_",
  invite: "mtr_invite_",
};

/** How many characters of the secret are shown, to tell keys apart. */
const SHOWN_CHARACTERS = 6;

const WORKSPACE_BYTES = 16;
const SECRET_BYTES = 32;

/** Base64 of both without padding: 48 bytes are 64 characters. */
const KEY = /^mtr_(?:sync|admin)_([\w-]{64})$/;
const INVITATION = /^mtr_invite_([\w-]{64})$/;

/** A new token. Only its hash is stored. */
export interface MintedToken {
  readonly token: string;
  /** Shown in lists: the prefix and the secret's last characters, 36 of its 256 bits. */
  readonly prefix: string;
  readonly hash: Uint8Array;
}

/**
 * Creates a token from the workspace's id and 256 random bits.
 *
 * Decision: the token contains the workspace's id, so that a key is looked up within one row-level scope and on one shard.
 * The id is not secret and proves nothing: the hash covers the whole token.
 */
export function mintToken(
  kind: TokenKind,
  workspaceId: string,
  randomBytes: RandomBytes,
  sha256: Sha256,
): MintedToken {
  const bytes = new Uint8Array(WORKSPACE_BYTES + SECRET_BYTES);
  bytes.set(uuidBytes(workspaceId));
  bytes.set(randomBytes(SECRET_BYTES), WORKSPACE_BYTES);
  const token = PREFIXES[kind] + encodeBase64Url(bytes);
  return {
    token,
    prefix: `${PREFIXES[kind]}…${token.slice(-SHOWN_CHARACTERS)}`,
    hash: hashToken(token, sha256),
  };
}

/** Returns the workspace id in a key's token; null for anything else, including an invitation's token. */
export function workspaceOfToken(token: string): string | null {
  return workspaceIn(KEY, token);
}

/** Returns the workspace id in an invitation's token; null for anything else. */
export function workspaceOfInvitation(token: string): string | null {
  return workspaceIn(INVITATION, token);
}

function workspaceIn(form: RegExp, token: string): string | null {
  const [, text] = form.exec(token) ?? [];
  const bytes = text === undefined ? null : decodeBase64Url(text);
  return bytes === null ? null : uuidText(bytes.subarray(0, WORKSPACE_BYTES));
}

/** Hashes a token for storage. SHA-256 is enough for a secret of 256 random bits. */
export function hashToken(token: string, sha256: Sha256): Uint8Array {
  return sha256(new TextEncoder().encode(token));
}

function uuidBytes(uuid: string): Uint8Array {
  const hex = uuid.replaceAll("-", "");
  return Uint8Array.from({ length: WORKSPACE_BYTES }, (_, at) =>
    Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16),
  );
}

function uuidText(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
