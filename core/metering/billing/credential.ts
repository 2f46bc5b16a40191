import { type HeaderList, headerValue } from "../exchange/head.ts";

/**
 * The kind of the credential of a request. `claude_login`: the OAuth token of a Claude account. `token`: a JSON Web Token or
 * an OAuth token of Google. `signature`: a request signed for AWS. `api_key`: any other secret.
 */
export type CredentialKind = "api_key" | "claude_login" | "token" | "signature" | "none";

/** The headers that hold an API key. */
const KEY_HEADERS = ["x-api-key", "api-key", "x-goog-api-key", "xi-api-key"];

/** A parameter that holds an API key (Google) or a signature (AWS) in the query. */
const KEY_PARAMETER = /[?&](?:key|api[-_]key)=[^&]/;
const SIGNATURE_PARAMETER = /[?&]X-Amz-Signature=[^&]/i;

const CLAUDE_LOGIN = /^sk-ant-oat/;
const TOKEN = /^(?:eyJ[\w-]*\.[\w-]+\.|ya29\.)/;

/** Returns the kind of the credential that a request carries. It looks only at prefixes, and keeps nothing of the secret. */
export function readCredentialKind(headers: HeaderList, target: string): CredentialKind {
  const authorization = /^\s*(\S+)\s+(\S+)/.exec(headerValue(headers, "authorization") ?? "");
  if (authorization !== null) {
    const [, scheme = "", secret = ""] = authorization;
    if (/^AWS4-/i.test(scheme)) return "signature";
    return kindOf(secret);
  }
  for (const name of KEY_HEADERS) {
    const key = headerValue(headers, name);
    if (key !== null && key !== "") return kindOf(key);
  }
  if (SIGNATURE_PARAMETER.test(target)) return "signature";
  return KEY_PARAMETER.test(target) ? "api_key" : "none";
}

function kindOf(secret: string): CredentialKind {
  if (CLAUDE_LOGIN.test(secret)) return "claude_login";
  return TOKEN.test(secret) ? "token" : "api_key";
}
