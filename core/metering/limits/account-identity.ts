import type { Sha256 } from "../../values/hash.ts";
import { fromHex, hmacSha256 } from "../../values/hmac.ts";
import { readCredentialKind } from "../billing/credential.ts";
import { type HeaderList, headerValue } from "../exchange/head.ts";

/** The header that names an account, whatever its token is. */
const ACCOUNT_HEADER = "chatgpt-account-id";

/** The headers that name the organisation or the project of a call. */
const RESPONSE_HEADERS = ["anthropic-organization-id", "openai-organization"] as const;
const REQUEST_HEADERS = ["openai-organization", "x-goog-user-project"] as const;

/** The headers that hold a credential. */
const CREDENTIAL_HEADERS = [
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "authorization",
  "ocp-apim-subscription-key",
] as const;

/** The tracking id in a token of GitHub Copilot, which stays the same when the token is renewed. */
const COPILOT_TOKEN = /^Bearer\s+tid=([^;]+)/i;

/**
 * Returns a text that stays the same for all calls of an account and differs between accounts: the id that the provider or the
 * client states, and for an API key the key as well, because limits may be per key. Null if there is none: tokens of a login are
 * renewed, so they identify no account. The text may contain a secret, so it is only hashed.
 */
export function readAccountIdentity(
  request: { readonly headers: HeaderList; readonly target: string },
  responseHeaders: HeaderList,
): string | null {
  const account = firstValue(request.headers, [ACCOUNT_HEADER]);
  if (account !== null) return account;
  const stated =
    firstValue(responseHeaders, RESPONSE_HEADERS) ?? firstValue(request.headers, REQUEST_HEADERS);
  const credential = firstValue(request.headers, CREDENTIAL_HEADERS);
  const copilot = COPILOT_TOKEN.exec(credential ?? "")?.[1];
  if (copilot !== undefined) return `copilot ${copilot}`;
  const isKey = readCredentialKind(request.headers, request.target) === "api_key";
  if (!isKey || credential === null) return stated;
  return `${stated ?? ""} ${credential}`;
}

function firstValue(headers: HeaderList, names: readonly string[]): string | null {
  for (const name of names) {
    const value = headerValue(headers, name);
    if (value !== null && value !== "") return value;
  }
  return null;
}

/** The characters of an account's hash. It only distinguishes the accounts of one installation. */
const HASH_CHARACTERS = 16;

/** Creates the hash of identities: HMAC-SHA-256 with a key of this installation, 64 hexadecimal digits. */
export function createAccountHash(keyHex: string, sha256: Sha256): (identity: string) => string {
  const key = fromHex(keyHex);
  const encoder = new TextEncoder();
  return (identity) => hmacSha256(key, encoder.encode(identity), sha256).slice(0, HASH_CHARACTERS);
}
