import type { ShapeData } from "./shape.ts";

const ALNUM = "[0-9A-Za-z]";
const WORD = "[0-9A-Za-z_\\-]";
const HEX = "[0-9a-f]";
const UUID = `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`;

/** Vendor, token prefix, and what follows it in the pattern language. Source: the vendors' documentation. */
const PREFIXED: readonly (readonly [id: string, prefix: string, tail: string])[] = [
  ["adafruit", "aio_", `${ALNUM}{28}`],
  ["aiven", "AVNS_", `${WORD}{19}`],
  ["apify", "apify_api_", `${ALNUM}{36}`],
  ["atlassian", "ATATT3", "[0-9A-Za-z_=\\-]{50,}"],
  ["aws_session", "IQoJb3JpZ2lu", "[0-9A-Za-z+/=]{100,}"],
  ["braintree", "access_token$production$", `${ALNUM}{16}\\$${HEX}{32}`],
  ["browserbase", "bb_live_", `${WORD}{20,}`],
  ["buildkite", "bkua_", `${HEX}{40}`],
  ["circleci", "CCIPAT_", `${ALNUM}{22}_${HEX}{40}`],
  ["clickup", "pk_", "[0-9]{6,10}_[0-9A-Z]{32}"],
  ["cloudflare", "cfat_", `${ALNUM}{40,}`],
  ["cloudflare", "cfut_", `${ALNUM}{40,}`],
  ["cloudflare", "cfk_", `${ALNUM}{40,}`],
  ["contentful", "CFPAT-", `${WORD}{43}`],
  ["crates_io", "cio", `${ALNUM}{32}`],
  ["cursor", "crsr_", `${HEX}{64}`],
  ["daytona", "dtn_", `${HEX}{64}`],
  ["discord_webhook", "discord.com/api/webhooks/", `[0-9]{15,20}/${WORD}{60,}`],
  ["discord_webhook", "discordapp.com/api/webhooks/", `[0-9]{15,20}/${WORD}{60,}`],
  ["docker", "dckr_oat_", `${WORD}{24,}`],
  ["doppler", "dp.st.", "[0-9A-Za-z_.\\-]{40,}"],
  ["doppler", "dp.ct.", `${ALNUM}{40,}`],
  ["doppler", "dp.sa.", `${ALNUM}{40,}`],
  ["dropbox", "sl.", "[0-9A-Za-z_=\\-]{130,}"],
  ["e2b", "e2b_", `${HEX}{40}`],
  ["elastic", "essu_", "[0-9A-Za-z=]{20,}"],
  ["elevenlabs", "sk_", `${HEX}{48}`],
  ["figma", "figd_", `${WORD}{40,}`],
  ["figma", "figu_", `${WORD}{40,}`],
  ["firecrawl", "fc-", `${HEX}{32}`],
  ["google_refresh", "1//0", `${WORD}{40,}`],
  ["hubspot", "pat-na1-", UUID],
  ["hubspot", "pat-eu1-", UUID],
  ["jina", "jina_", `${ALNUM}{40,}`],
  ["langsmith", "lsv2_pt_", `${HEX}{32}_${HEX}{10}`],
  ["langsmith", "lsv2_sk_", `${HEX}{32}_${HEX}{10}`],
  ["launchdarkly", "sdk-", UUID],
  ["linear", "lin_oauth_", `${HEX}{64}`],
  ["llamacloud", "llx-", `${ALNUM}{40,}`],
  ["mailgun", "key-", `${HEX}{32}`],
  ["mem0", "m0-", `${ALNUM}{40}`],
  ["neon", "napi_", `${ALNUM}{60,}`],
  ["netlify", "nfp_", `${ALNUM}{36}`],
  ["new_relic", "NRAK-", `${ALNUM}{27}`],
  ["new_relic", "NRII-", `${WORD}{32}`],
  ["new_relic", "NRJS-", `${HEX}{19}`],
  ["notion", "secret_", `${ALNUM}{43}`],
  ["nuget", "oy2", "[0-9a-z]{43}"],
  ["pinecone", "pcsk_", "[0-9A-Za-z_]{50,}"],
  ["posthog", "phx_", `${ALNUM}{40,}`],
  ["razorpay", "rzp_live_", `${ALNUM}{14}`],
  ["render", "rnd_", `${ALNUM}{28}`],
  ["resend", "re_", `${ALNUM}{8}_${ALNUM}{24}`],
  ["runpod", "rpa_", `${ALNUM}{30,}`],
  ["scaleway", "SCW", "[0-9A-Z]{17}"],
  ["segment", "sgp_", `${ALNUM}{64}`],
  ["shopify", "shpat_", `${ALNUM}{32,}`],
  ["shopify", "shpca_", `${ALNUM}{32,}`],
  ["shopify", "shppa_", `${ALNUM}{32,}`],
  ["shopify", "shpss_", `${ALNUM}{32,}`],
  ["slack_webhook", "hooks.slack.com/services/", `T[0-9A-Z]{2,20}/B[0-9A-Z]{2,20}/${ALNUM}{8,}`],
  ["slack_webhook", "hooks.slack.com/workflows/", "[0-9A-Za-z+/]{20,}"],
  ["sonar", "squ_", `${HEX}{40}`],
  ["sonar", "sqp_", `${HEX}{40}`],
  ["sonar", "sqa_", `${HEX}{40}`],
  ["square", "sq0csp-", `${WORD}{40,}`],
  ["statsig", "secret-", `${ALNUM}{40,}`],
  ["stripe_webhook", "whsec_", "[0-9A-Za-z+/=]{24,}"],
  ["supabase", "sbp_", `${HEX}{40}`],
  ["supabase", "sb_secret_", `${WORD}{20,}`],
  ["tailscale", "tskey-", `${WORD}{24,}`],
  ["tavily", "tvly-", `${WORD}{20,}`],
  ["tencent", "AKID", `${ALNUM}{32}`],
  ["trello", "ATTA", `${HEX}{64,}`],
  ["twitter", "AAAAAAAAAAAAAAAAAAAAA", "[0-9A-Za-z%]{50,}"],
  ["typeform", "tfp_", "[0-9A-Za-z_.\\-]{40,}"],
  ["vault", "hvr.", `${WORD}{24,}`],
  ["vault", "hvb.", `${WORD}{24,}`],
  ["vercel", "vca_", `${ALNUM}{24,}`],
  ["vercel", "vci_", `${ALNUM}{24,}`],
  ["vercel", "vck_", `${ALNUM}{24,}`],
  ["vercel", "vcp_", `${ALNUM}{24,}`],
  ["vercel", "vcr_", `${ALNUM}{24,}`],
  ["vercel", "vercel_blob_rw_", "[0-9A-Za-z_]{30,}"],
  ["voyage", "pa-", `${WORD}{43}`],
  ["zapier_webhook", "hooks.zapier.com/hooks/catch/", `[0-9]{4,10}/${ALNUM}{5,}`],
];

const BASE64_OF_CRYPT = "[0-9A-Za-z./]";

/** Tokens with a fixed part in the middle, and password hashes. */
const MARKED: readonly ShapeData[] = [
  { id: "azure_devops", keyword: "azdo", offset: 76, pattern: `${ALNUM}{76}AZDO${ALNUM}{4}` },
  { id: "azure_cognitive", keyword: "jqqj99", offset: 52, pattern: `${ALNUM}{52}JQQJ99${ALNUM}{26}` },
  { id: "azure_search", keyword: "azse", offset: 42, pattern: `${ALNUM}{42}AzSe[A-D]${ALNUM}{5}` },
  { id: "azure_functions", keyword: "azfu", offset: 44, pattern: `${WORD}{44}AzFu${WORD}{6}={0,2}` },
  { id: "mailchimp", keyword: "-us", offset: 32, pattern: `${HEX}{32}-us[0-9]{1,2}` },
  ...["a", "b", "y"].map((letter) => ({
    id: "password_hash",
    keyword: `$2${letter}$`,
    offset: 0,
    pattern: `\\$2${letter}\\$[0-9]{2}\\$${BASE64_OF_CRYPT}{53}`,
  })),
  {
    id: "password_hash",
    keyword: "$6$",
    offset: 0,
    pattern: `\\$6\\$${BASE64_OF_CRYPT}{1,16}\\$${BASE64_OF_CRYPT}{86}`,
  },
  {
    id: "password_hash",
    keyword: "$5$",
    offset: 0,
    pattern: `\\$5\\$${BASE64_OF_CRYPT}{1,16}\\$${BASE64_OF_CRYPT}{43}`,
  },
  {
    id: "password_hash",
    keyword: "$argon2",
    offset: 0,
    pattern: "\\$argon2[di]{1,2}\\$[0-9A-Za-z+/$=,]{40,}",
  },
].map((shape) => ({ ...shape, entropy: 0, bounded: true }));

/** Telegram tokens. Their first part may follow a word directly, as in `/bot123…`. */
const TELEGRAM: readonly ShapeData[] = [8, 9, 10].map((digits) => ({
  id: "telegram",
  keyword: ":aa",
  offset: digits,
  pattern: `[0-9]{${digits}}:AA${WORD}{33}`,
  entropy: 0,
  bounded: false,
}));

const escaped = (text: string): string => text.replaceAll(/[.$]/g, "\\$&");

/** Tokens that gitleaks lacks or has in an older or narrower form. */
export const VENDOR_SHAPES: readonly ShapeData[] = [
  ...PREFIXED.map(([id, prefix, tail]) => ({
    id,
    keyword: prefix.toLowerCase(),
    pattern: escaped(prefix) + tail,
    entropy: 2,
    offset: 0,
    // A long prefix identifies a token even inside a word, unless it is a run of zeros in base64.
    bounded: prefix.length < 6 || prefix.startsWith("AAAA"),
  })),
  ...MARKED,
  ...TELEGRAM,
];
