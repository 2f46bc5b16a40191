import {
  ALPHANUMERIC,
  BASE64,
  type CharacterSet,
  characterSet,
  type RedactionRule,
  runEnd,
  WORD,
} from "./rule.ts";

/** A credential that is known by how it begins. */
interface TokenShape {
  readonly prefix: string;
  readonly characters: CharacterSet;
  /** Fewest characters after the prefix; fewer are enough where the text ends within the token. */
  readonly min: number;
  /** Most characters after the prefix; a longer run is another thing that follows. */
  readonly max?: number;
  /** A further condition on what follows the prefix, over a bounded number of characters. */
  readonly holds?: (text: string, start: number, tokenStart: number) => boolean;
}

/** Longest token; what is longer is cut here, so that base64 data that looks like a token costs a bounded hole. */
const MAX_TOKEN_LENGTH = 4_096;

const HEX = characterSet("a-fA-F0-9");
const BASE32 = characterSet("A-Z2-7");
const PADDED_WORD = characterSet("A-Za-z0-9_=-");
const DOTTED = characterSet("A-Za-z0-9_.-");

/** `task-…`, `desk-…` and CSS classes hold `sk-` too: without a boundary before it, it takes 40 unbroken characters. */
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

/** The published shapes, by rule. Where a provider publishes none, the shape of the keys that it issues in 2026. */
const shapes: Readonly<Record<string, readonly TokenShape[]>> = {
  provider_api_key: [
    // Anthropic, OpenAI (project, service account, admin), OpenRouter; then the bare form of OpenAI and DeepSeek.
    ...sameShape(["sk-ant-", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-"], WORD, 16),
    { prefix: "sk-", characters: WORD, min: 20, holds: looksLikeSkKey },
    { prefix: "AIza", characters: WORD, min: 35, max: 35 },
    { prefix: "AQ.Ab", characters: WORD, min: 30 },
    ...sameShape(["gsk_", "xai-", "pplx-", "csk-", "tgp_v1_"], ALPHANUMERIC, 32),
    ...sameShape(["r8_", "hf_"], ALPHANUMERIC, 30),
    { prefix: "fw_", characters: ALPHANUMERIC, min: 22 },
    { prefix: "nvapi-", characters: WORD, min: 40 },
    // Amazon Bedrock API keys, long and short term.
    { prefix: "ABSK", characters: BASE64, min: 100 },
    { prefix: "bedrock-api-key-", characters: BASE64, min: 40 },
    // Our own keys and invitations. Source: decisions, "Cloud: people, keys, plans".
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
      // A PEM file in base64, as Kubernetes keeps it; a certificate begins alike and is none of ours.
      prefix: "LS0tLS1CRUdJTi",
      characters: BASE64,
      min: 60,
      max: 65_536,
      holds: (text, start) => PRIVATE_KEY_IN_BASE64.test(text.slice(start, start + 64)),
    },
  ],
};

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
        const { characters, min, max = MAX_TOKEN_LENGTH, holds } = byPrefix.get(match[0]) as TokenShape;
        const start = pattern.lastIndex;
        // The condition first: it looks at a bounded head, so that a text full of near misses stays linear.
        if (holds !== undefined && !holds(text, start, match.index)) continue;
        const end = runEnd(text, start, characters, max);
        if (end - start < min && (end < text.length || end === start)) continue;
        report(match.index, end);
        pattern.lastIndex = end;
      }
    },
  };
}

/** Credentials known by their prefix: `provider_api_key`, `cloud_key`, `git_key`, `private_key` (in base64). */
export function createTokenRules(): RedactionRule[] {
  return Object.entries(shapes).map(([name, tokens]) => createTokenRule(name, tokens));
}
