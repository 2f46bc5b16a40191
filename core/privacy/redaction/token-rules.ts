import {
  ALPHANUMERIC,
  BASE64,
  type CharacterSet,
  characterSet,
  type RedactionRule,
  runEnd,
  WORD,
} from "./rule.ts";

/** A credential with a known prefix. */
interface TokenShape {
  readonly prefix: string;
  readonly characters: CharacterSet;
  /** Fewest characters after the prefix. Fewer suffice if the text ends within the token. */
  readonly min: number;
  /** Most characters after the prefix. Characters beyond belong to something else. */
  readonly max?: number;
  /** A further check of what follows the prefix. It must read a bounded number of characters. */
  readonly accepts?: (text: string, start: number, tokenStart: number) => boolean;
}

/** Longest token. A longer run is cut here, so that base64 data that looks like a token loses a bounded part. */
const MAX_TOKEN_LENGTH = 4_096;

const HEX = characterSet("a-fA-F0-9");
const BASE32 = characterSet("A-Z2-7");
const PADDED_WORD = characterSet("A-Za-z0-9_=-");
const DOTTED = characterSet("A-Za-z0-9_.-");

/** Whether an `sk-` prefix starts a key. `task-…`, `desk-…` and CSS classes contain it too: inside a word, it needs 40 alphanumerics. */
function looksLikeSkKey(text: string, start: number, tokenStart: number): boolean {
  const bounded = tokenStart === 0 || ALPHANUMERIC[text.charCodeAt(tokenStart - 1)] !== 1;
  const head = text.slice(start, start + 40);
  return /[0-9A-Z]/.test(head) && (bounded || /^[A-Za-z0-9]{40}$/.test(head));
}

/** "PRIVATE KEY" in base64, at each of the three alignments. */
const PRIVATE_KEY_IN_BASE64 = /UFJJVkFURSBLRV|BSSVZBVEUgS0VZ|QUklWQVRFIEtFW/;

function sameShape(prefixes: readonly string[], characters: CharacterSet, min: number): TokenShape[] {
  return prefixes.map((prefix) => ({ prefix, characters, min }));
}

/** The published shapes by rule. If a provider publishes none, the shape of the keys it issues in 2026. */
const shapes: Readonly<Record<string, readonly TokenShape[]>> = {
  provider_api_key: [
    // Anthropic, OpenAI (project, service account, admin), OpenRouter; then the plain form of OpenAI and DeepSeek.
    ...sameShape(["sk-ant-", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-"], WORD, 16),
    { prefix: "sk-", characters: WORD, min: 20, accepts: looksLikeSkKey },
    { prefix: "AIza", characters: WORD, min: 35, max: 35 },
    { prefix: "AQ.Ab", characters: WORD, min: 30 },
    ...sameShape(["gsk_", "xai-", "pplx-", "csk-", "tgp_v1_"], ALPHANUMERIC, 32),
    ...sameShape(["r8_", "hf_"], ALPHANUMERIC, 30),
    { prefix: "fw_", characters: ALPHANUMERIC, min: 22 },
    { prefix: "nvapi-", characters: WORD, min: 40 },
    // Amazon Bedrock API keys, long-term and short-term.
    { prefix: "ABSK", characters: BASE64, min: 100 },
    { prefix: "bedrock-api-key-", characters: BASE64, min: 40 },
    // The cloud's own keys and invitations. Source: docs/specification.md#cloud-accounts-and-keys.
    ...sameShape(["mtr_sync_", "mtr_admin_", "mtr_invite_"], WORD, 20),
  ],
  cloud_key: [
    ...["AKIA", "ASIA", "ABIA", "ACCA"].map((prefix) => ({ prefix, characters: BASE32, min: 16, max: 16 })),
    { prefix: "GOCSPX-", characters: WORD, min: 24 },
    { prefix: "ya29.", characters: DOTTED, min: 20 },
    { prefix: "dop_v1_", characters: HEX, min: 64, max: 64 },
    { prefix: "dapi", characters: HEX, min: 32, max: 32 },
    ...sameShape(["shpat_", "shpss_"], HEX, 32),
    ...sameShape(["sk_live_", "rk_live_", "sk_test_", "rk_test_"], ALPHANUMERIC, 16),
    ...sameShape(["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"], WORD, 16),
    { prefix: "SG.", characters: DOTTED, min: 60, max: 66 },
    { prefix: "hvs.", characters: WORD, min: 24 },
    { prefix: "AGE-SECRET-KEY-1", characters: ALPHANUMERIC, min: 50 },
    { prefix: "npm_", characters: ALPHANUMERIC, min: 36, max: 36 },
    { prefix: "pypi-AgE", characters: WORD, min: 50 },
    { prefix: "dckr_pat_", characters: WORD, min: 24 },
  ],
  git_key: [
    ...sameShape(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], ALPHANUMERIC, 30),
    { prefix: "github_pat_", characters: WORD, min: 40 },
    ...sameShape(["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"], DOTTED, 20),
    { prefix: "ATBB", characters: ALPHANUMERIC, min: 28, max: 32 },
    { prefix: "ATCTT3xFfG", characters: PADDED_WORD, min: 40 },
  ],
  private_key: [
    {
      // A PEM file in base64, as Kubernetes stores it. A certificate begins the same way and is not a secret.
      prefix: "LS0tLS1CRUdJTi",
      characters: BASE64,
      min: 60,
      max: 65_536,
      accepts: (text, start) => PRIVATE_KEY_IN_BASE64.test(text.slice(start, start + 64)),
    },
  ],
};

/** The prefixes of all tokens, longest first, so that `sk-ant-` is not read as `sk-`. */
export const TOKEN_PREFIXES: readonly string[] = Object.values(shapes)
  .flatMap((tokens) => tokens.map(({ prefix }) => prefix))
  .sort((a, b) => b.length - a.length);

function createTokenRule(name: string, tokens: readonly TokenShape[]): RedactionRule {
  const byPrefix = new Map(tokens.map((shape) => [shape.prefix, shape]));
  // Longest first, so that `sk-ant-` is not read as `sk-`.
  const prefixes = [...byPrefix.keys()].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(prefixes.map((prefix) => prefix.replaceAll(".", "\\.")).join("|"), "g");
  return {
    name,
    find(text, report) {
      pattern.lastIndex = 0;
      for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
        const { characters, min, max = MAX_TOKEN_LENGTH, accepts } = byPrefix.get(match[0]) as TokenShape;
        const start = pattern.lastIndex;
        // This check reads a bounded prefix, so it comes first: a text full of near misses stays linear.
        if (accepts !== undefined && !accepts(text, start, match.index)) continue;
        const end = runEnd(text, start, characters, max);
        if (end - start < min && (end < text.length || end === start)) continue;
        report(match.index, end);
        pattern.lastIndex = end;
      }
    },
  };
}

/** Creates the rules for credentials with a prefix: `provider_api_key`, `cloud_key`, `git_key`, `private_key` (in base64). */
export function createTokenRules(): RedactionRule[] {
  return Object.entries(shapes).map(([name, tokens]) => createTokenRule(name, tokens));
}
