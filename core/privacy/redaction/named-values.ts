import { createKeywordScan, type KeywordScan } from "./keyword-scan.ts";
import { isRandomValue, MAX_EXAMINED } from "./random-value.ts";
import { characterSet, type RedactionRule, type ReportRange, runEnd } from "./rule.ts";

/** A word that may be followed by a secret. */
interface Stem {
  readonly stem: string;
  /** What must precede the stem. */
  readonly before: RegExp | null;
  /** Matches from the stem's end to the value. */
  readonly assignment: RegExp;
  /** Shortest value that can be a secret, in characters. */
  readonly minLength: number;
}

/** Words that name secrets and little else. */
const STRONG = [
  ...["password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential"],
  ...["passwort", "kennwort", "contrasena", "senha", "mot de passe", "mot_de_passe"],
];
/** Words that are part of many others and often name harmless things. */
const WEAK = [
  ...["auth", "pass", "pw", "pat", "creds", "cookie", "session", "sid", "signature", "sig", "salt", "seed"],
  ...[
    "hmac",
    "otp",
    "pin",
    "psk",
    "jwt",
    "bearer",
    "dsn",
    "webhook",
    "csrf",
    "xsrf",
    "pepper",
    "cipher",
    "passkey",
  ],
];
/** Kinds of key that are secret. Most other keys belong to maps. */
const KEY_KINDS = [
  "api|app|application|secret|private|access|account|auth|authn|admin|client|consumer|server|service|host|root",
  "encrypt(?:ion)?|decrypt(?:ion)?|sign(?:ing|ature)?|hmac|jwt|aes|rsa|ssh|pgp|gpg|fernet|master|licen[cs]e",
  "subscription|storage|shared|session|cookie|csrf|token|password|nonce|logged_in|db|database|vault|functions?",
  "deploy(?:ment)?|webhook|security|integration|project|write|ingest(?:ion)?|rest|sdk|bot|partner|merchant",
  "stripe|openai|anthropic|gemini|mistral|azure|aws|sendgrid|twilio|github|gitlab|google|maps|rails|django|flask|laravel",
].join("|");

const QUOTE = "[\"'`]";
/** Builds a pattern from a name's end to its value: the rest of the name, quotes, a type, the assignment, the opening quote. */
const assignmentPattern = (nameRest: string): RegExp =>
  new RegExp(
    [
      nameRest,
      "[\"'`\\])}]{0,3}",
      // `{"name": "TOKEN", "value": "…"}`, `<add key="Token" value="…"/>`, `secret set TOKEN --body "…"`
      `(?:\\s{0,3},?\\s{0,20}${QUOTE}?(?:val(?:ue)?|content)${QUOTE}?|\\s--body|:\\s{1,20}value|\\s?\\{\\s{1,20}default)?`,
      // `token: string = "…"`
      `(?:\\s?\\??:\\s?&?[A-Za-z][\\w<>|]{0,24}(?=\\s?=\\s?${QUOTE}))?`,
      `(?:${[
        `\\s{0,4}(?:=>|:{1,3}=|\\?=|={1,3}|\\|\\||[:>|]|,(?=\\s{0,12}${QUOTE}))`,
        // `the password is …`, `Set TOKEN to …`
        "\\s(?:is|was|to):?\\s",
        // `#define TOKEN "…"`
        "\\s(?=[\"'])",
        // `<key>Token</key><string>…`
        "</\\w{1,20}>\\s{0,20}<\\w{1,20}>",
      ].join("|")})`,
      `\\s{0,12}(?:[|>]-?\\s{1,20})?(?:[bfru@]{1,2}(?=${QUOTE}))?[(]?${QUOTE}{0,3}`,
    ].join(""),
    "iy",
  );

const NAMED = assignmentPattern("[\\w.-]{0,24}");
const NAMED_STRICTLY = assignmentPattern("(?:[_.-]?(?:id|key|value|string|data|\\d{1,2}))?");
/** The start of a word, or of a word inside a camel-case name. */
const WORD_START = /(?:^|[^A-Za-z])$/;

/** Phrases that precede a secret without naming it: command options, headers, statements. */
const PHRASES: readonly (readonly [
  stem: string,
  before: RegExp | null,
  assignment: RegExp,
  minLength: number,
])[] = [
  ["code", /[?&]$/, /=/y, 16],
  ["basic", WORD_START, / {1,4}/y, 12],
  ["response", /digest [^\n]{1,48}$/i, /=["']/y, 16],
  [" -u", null, / ?["']?[^\s:"']{1,64}:/y, 8],
  [" --user", null, /[ =]["']?[^\s:"']{1,64}:/y, 8],
  ["mysql", null, /[^\n|;]{0,80}? -p["']?/y, 8],
  ["sshpass", null, / {1,4}-p ?["']?/y, 8],
  ["redis-cli", null, /[^\n|;]{0,80}? -a ["']?/y, 8],
  [" login", null, /[^\n|;]{0,80}? -p ["']?/y, 8],
  ["identified by", null, / ["']/y, 8],
  ["auth plain", null, / /y, 12],
  ["securestring", null, /\s{1,3}(?:-String\s)?["']/iy, 8],
  ["auth", null, /\s{0,3}[=(]\s{0,3}\(?["'][^"'\n]{1,64}["'],\s{0,3}["']/y, 8],
];

const STEMS: readonly Stem[] = [
  ...STRONG.map((stem) => ({ stem, before: null, assignment: NAMED, minLength: 8 })),
  { stem: "key", before: new RegExp(`(?:${KEY_KINDS})[_.\\- ]?$`, "i"), assignment: NAMED, minLength: 8 },
  { stem: "key", before: /[?&]$/, assignment: NAMED_STRICTLY, minLength: 16 },
  ...WEAK.map((stem) => ({ stem, before: WORD_START, assignment: NAMED_STRICTLY, minLength: 12 })),
  ...PHRASES.map(([stem, before, assignment, minLength]) => ({ stem, before, assignment, minLength })),
];

/** Contexts in which a space assigns: after `--name`, and after a command such as `export` or `setx`. */
const ASSIGNS_BY_BLANK =
  /(?:^|[\s"'`])--?[\w-]{0,30}$|\b(?:setx|env|arg|set -g?x|setenv|config(?:ure)?(?: --\w{1,10})?(?: set)?|login \S{1,60}) +[\w.-]{0,30}$/i;
const BLANK = /[\w.-]{0,24}["']?[ \t]{1,4}["'`]?/iy;

/** The pairs of a `Cookie` or `Set-Cookie` header. */
const COOKIES = /["']?\s{0,3}[:=]\s{0,3}["']?(?=[\w.%-]{1,64}=)/y;
const COOKIE = /([\w.%-]{1,64}=)([^;\s"',]{0,4096})(?:; ?|(?=["'\s]|$))/y;
const MAX_COOKIES = 50;

const SCHEME = /(?:bearer|basic|token|apikey|api-key|key) +|base64:/iy;
const UNQUOTED = characterSet("A-Za-z0-9._~+/=%!@#^*?:$-");
const MAX_VALUE = 4_096;
const LOOKBACK = 48;

interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Returns the range of the value that begins at `start`, after its opening quote if it has one. */
function readValue(text: string, start: number, max: number): TextRange | null {
  const quote = text[start - 1] as string;
  SCHEME.lastIndex = start;
  const from = SCHEME.test(text) ? SCHEME.lastIndex : start;
  if ("\"'`".includes(quote)) {
    const end = text
      .slice(from, from + max)
      .search(quote === "`" ? /[`\n]/ : quote === '"' ? /["\n]/ : /['\n]/);
    return { start: from, end: end === -1 ? Math.min(text.length, from + max) : from + end };
  }
  let end = runEnd(text, from, UNQUOTED, max);
  // A call, a template, an index or a chained assignment is code, not a value.
  if ("([{".includes(text[end] ?? " ") || text.startsWith(" = ", end)) return null;
  while (end > from && ".:!?".includes(text[end - 1] as string)) end -= 1;
  return { start: from, end };
}

const NAME = characterSet("A-Za-z0-9_$");

/**
 * Whether a value repeats its name, as identifiers do in code: `userToken: userToken`, `exports.userToken = userToken`,
 * `token = request.token`, `PrivateKey = PrivateKey_1`.
 */
function repeatsName(name: string, value: string): boolean {
  return name.endsWith(value) || value.endsWith(`.${name}`) || value.replace(/_\d$/, "") === name;
}

/** Returns the range of the secret after a stem that ends at `end`, or null if there is no value that looks like a secret. */
function findValue(
  text: string,
  { stem, before, assignment, minLength }: Stem,
  end: number,
): TextRange | null {
  const head = text.slice(Math.max(0, end - stem.length - LOOKBACK), end - stem.length);
  if ((before !== null && !before.test(head)) || /public[_-]?(?:key)?$/i.test(head)) return null;
  assignment.lastIndex = end;
  BLANK.lastIndex = end;
  let start = assignment.test(text) ? assignment.lastIndex : -1;
  if (start === -1 && ASSIGNS_BY_BLANK.test(head) && BLANK.test(text)) start = BLANK.lastIndex;
  const examined = start === -1 ? null : readValue(text, start, MAX_EXAMINED);
  if (examined === null) return null;
  const value = text.slice(examined.start, examined.end);
  if (!isRandomValue(value, minLength)) return null;
  let nameStart = end - stem.length;
  while (nameStart > end - stem.length - LOOKBACK && NAME[text.charCodeAt(nameStart - 1)] === 1)
    nameStart -= 1;
  if (repeatsName(text.slice(nameStart, runEnd(text, end, NAME, LOOKBACK)), value)) return null;
  return readValue(text, start, MAX_VALUE);
}

function findCookies(text: string, nameEnd: number, report: ReportRange): void {
  COOKIES.lastIndex = nameEnd;
  if (!COOKIES.test(text)) return;
  COOKIE.lastIndex = COOKIES.lastIndex;
  for (let count = 0; count < MAX_COOKIES; count += 1) {
    const match = COOKIE.exec(text);
    if (match === null) return;
    const [, name = "", value = ""] = match;
    const start = match.index + name.length;
    if (isRandomValue(value, 12)) report(start, start + value.length);
  }
}

/** Created by the first search and shared by all. */
let stemScan: KeywordScan | undefined;

/**
 * `named_secret`, the broader of its two rules: finds a random-looking value that is assigned to a secret's name, in code,
 * JSON, YAML, TOML, XML, environment files, URLs, headers, cookies and command lines.
 */
export const namedValuesRule: RedactionRule = {
  name: "named_secret",
  yields: true,
  find(text, report) {
    stemScan ??= createKeywordScan(STEMS.map(({ stem }) => stem));
    let foundEnd = 0;
    stemScan(text, (index, end) => {
      // A stem inside a value that was already found is not a name.
      if (end <= foundEnd) return;
      const stem = STEMS[index] as Stem;
      const value = findValue(text, stem, end);
      if (value !== null) {
        report(value.start, value.end);
        foundEnd = value.end;
      }
      if (stem.stem === "cookie") findCookies(text, end, report);
    });
  },
};
