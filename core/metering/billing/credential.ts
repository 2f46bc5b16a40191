import { type HeaderList, headerValue } from "../exchange/head.ts";

/**
 * The kind of the credential of a request. `claude_login`: the OAuth token of a Claude account. `token`: a JSON Web Token or
 * an OAuth token of Google. `signature`: a request signed for AWS. `api_key`: any other secret.
 */
export type CredentialKind = "api_key" | "claude_login" | "token" | "signature" | "none";

/** The headers that hold an API key: of providers, then of Azure API Management and of Cloudflare's AI Gateway. */
const KEY_HEADERS = [
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "xi-api-key",
  "ocp-apim-subscription-key",
  "cf-aig-authorization",
];

/** A parameter that holds an API key or a short-lived one (Google, AssemblyAI), or a signature (AWS), in the query. */
const KEY_PARAMETER = /[?&](?:key|api[-_]key|access_token|token)=[^&]/;
const SIGNATURE_PARAMETER = /[?&]X-Amz-Signature=[^&]/i;

/**
 * A key among the subprotocols of a WebSocket, where browsers can't set headers: `openai-insecure-api-key.KEY` (OpenAI),
 * `xai-client-secret.KEY` (xAI) and `token, KEY` (Deepgram).
 */
const SUBPROTOCOL_KEY =
  /(?:^|,)\s*(?:(?:openai-insecure-api-key|xai-client-secret)\.|(?:token|bearer)\s*,\s*)([^\s,]+)/i;

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
  const subprotocol = SUBPROTOCOL_KEY.exec(headerValue(headers, "sec-websocket-protocol") ?? "");
  if (subprotocol !== null) return kindOf(subprotocol[1] ?? "");
  if (SIGNATURE_PARAMETER.test(target)) return "signature";
  return KEY_PARAMETER.test(target) ? "api_key" : "none";
}

function kindOf(secret: string): CredentialKind {
  if (CLAUDE_LOGIN.test(secret)) return "claude_login";
  return TOKEN.test(secret) ? "token" : "api_key";
}
