import { isRandomValue } from "./random-value.ts";
import {
  ALPHANUMERIC,
  BASE64,
  characterSet,
  DIGIT,
  type RedactionRule,
  runEnd,
  TOKEN68,
  WORD,
} from "./rule.ts";

/** Longest credential after a name or a scheme. */
const MAX_CREDENTIAL_LENGTH = 65_536;

/** What separates a name from its value in headers, environment files, JSON, YAML and code. */
const ASSIGNMENT = "[\"'`]?\\s{0,4}(?:=>|:=|[:=])\\s{0,4}[\"'`]?";

/** Creates a rule for values that follow a pattern. Decision: a value without a digit is prose or code, not a credential. */
function createNamedRule(name: string, before: string): RedactionRule {
  const pattern = new RegExp(before, "gi");
  return {
    name,
    find(text, report) {
      pattern.lastIndex = 0;
      while (pattern.test(text)) {
        const start = pattern.lastIndex;
        const end = runEnd(text, start, TOKEN68, MAX_CREDENTIAL_LENGTH);
        const isCut = end === text.length && end > start;
        if (isCut || (end - start >= 8 && /\d/.test(text.slice(start, end)))) report(start, end);
        pattern.lastIndex = end;
      }
    },
  };
}

/** `bearer_token`: finds what follows `Bearer`, and the value of an `Authorization` header of any scheme. */
const bearerTokenRule: RedactionRule = createNamedRule(
  "bearer_token",
  `bearer\\s{1,4}|authorization${ASSIGNMENT}(?:[a-z][a-z0-9-]{0,20}\\s{1,4})?`,
);

/**
 * `named_secret`: finds the value of a name that denotes a secret. This covers keys without a recognisable shape, such as
 * those of Azure and Mistral and AWS secret access keys.
 */
const namedSecretRule: RedactionRule = createNamedRule(
  "named_secret",
  `(?:${[
    "(?:api|secret|private|subscription|access)[-_]?key",
    "(?:access|auth|session|security|private|refresh|id)[-_]?token",
    "client[-_]?secret",
    "pass(?:word|wd|phrase)",
  ].join("|")})${ASSIGNMENT}`,
);

const PEM_BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** The END line, or the part of it before the end of the text. */
const PEM_END = /-----END [A-Z0-9 ]{0,60}-----|-[A-Z0-9 -]{0,80}$/y;
const PEM_HEADER = /(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\r\n"]{0,120}/y;
/** What may precede a line: white space, a quote or diff mark, a line number as printed by editors and `cat -n`. */
const LINE_PREFIX = /[\s>|*#]*(?:\d{1,6}[\t\u2192:|]\s?)?(?:-(?!-)|-(?=-----END))?/y;
/** Shortest line that counts as base64 without an END line after it. */
const MIN_PEM_LINE = 20;
const MAX_PEM_LENGTH = 65_536;

function afterLinePrefix(text: string, index: number): number {
  LINE_PREFIX.lastIndex = index;
  LINE_PREFIX.test(text);
  return LINE_PREFIX.lastIndex;
}

function pemBodyEnd(text: string, start: number): number {
  const bound = Math.min(text.length, start + MAX_PEM_LENGTH);
  let end = start;
  while (end < bound) {
    const next = afterLinePrefix(text, end);
    if (next === text.length) return next;
    PEM_END.lastIndex = next;
    if (PEM_END.test(text)) return PEM_END.lastIndex;
    PEM_HEADER.lastIndex = next;
    if (PEM_HEADER.test(text)) {
      end = PEM_HEADER.lastIndex;
      continue;
    }
    const lineEnd = runEnd(text, next, BASE64, MAX_PEM_LENGTH);
    const following = afterLinePrefix(text, lineEnd);
    PEM_END.lastIndex = following;
    const isBody =
      lineEnd - next >= MIN_PEM_LINE || (lineEnd > next && (following === text.length || PEM_END.test(text)));
    // A PGP block ends with a checksum of five characters (RFC 4880, section 6).
    if (!isBody && !/^=[A-Za-z0-9+/]{4}$/.test(text.slice(next, lineEnd))) return end;
    end = lineEnd;
  }
  return end;
}

/** `private_key`: finds PEM and PGP private keys, complete or cut off. */
const privateKeyRule: RedactionRule = {
  name: "private_key",
  find(text, report) {
    PEM_BEGIN.lastIndex = 0;
    for (let match = PEM_BEGIN.exec(text); match !== null; match = PEM_BEGIN.exec(text)) {
      const bodyStart = PEM_BEGIN.lastIndex;
      const end = pemBodyEnd(text, bodyStart);
      if (end === bodyStart) continue;
      report(match.index, end);
      PEM_BEGIN.lastIndex = end;
    }
  },
};

const DOTTED_WORD = characterSet("A-Za-z0-9_.-");

/** `jwt`: finds signed and encrypted JSON web tokens (RFC 7519), which begin with `{"` in base64url. */
const jwtRule: RedactionRule = {
  name: "jwt",
  find(text, report) {
    for (let start = text.indexOf("eyJ"); start !== -1; ) {
      const headerEnd = runEnd(text, start, WORD, MAX_CREDENTIAL_LENGTH);
      const end =
        text[headerEnd] === "." ? runEnd(text, headerEnd, DOTTED_WORD, 4 * MAX_CREDENTIAL_LENGTH) : headerEnd;
      // `eyJ` alone proves nothing. A dot with a payload after it does, even if the text ends there.
      if (headerEnd - start >= 10 && (end - headerEnd >= 10 || (end === text.length && end > headerEnd))) {
        report(start, end);
      }
      start = text.indexOf("eyJ", end);
    }
  },
};

/** The characters that end a URL. Brackets and commas may be part of a password. */
const URL_STOP = characterSet(" \t\r\n\"'`<>");
const MAX_USERINFO_LENGTH = 512;

/** Returns the range of the password in the URL whose authority begins at `start`, or null if it has none. */
function findUrlPassword(text: string, start: number): { from: number; to: number } | null {
  const bound = Math.min(text.length, start + MAX_USERINFO_LENGTH);
  let colon = -1;
  let at = -1;
  for (let index = start; index < bound; index += 1) {
    const character = text[index];
    if (URL_STOP[text.charCodeAt(index)] === 1 || text.startsWith("://", index)) break;
    if (character === ":" && colon === -1) colon = index;
    else if (character === "@") at = index;
    // A slash ends the authority, unless it may be part of a password. After a port it is not.
    else if (character === "/" && (at !== -1 || colon === -1 || runEnd(text, colon + 1, DIGIT, 5) === index))
      break;
  }
  return colon !== -1 && at > colon + 1 ? { from: colon + 1, to: at } : null;
}

/** A template's expression in place of a password: `${password}`, `{password}`, `{{password}}`. */
const TEMPLATE = /^\$?\{{1,2}[\w.()]*\}{1,2}$/;
/** An empty value in code: `this.password=null;`. */
const EMPTY_VALUE = /^(?:null|undefined|true|false)(?![^,;)])/;

/** The password's name in ADO, JDBC and Azure connection strings (`Password=…;`) and in libpq's (`password=…`). */
const PASSWORD_NAME = /(?:password|passwd|pwd|accountkey|sharedaccesskey|sharedaccesssignature)=(["']?)/gi;
const VALUE_STOP = characterSet(" \t\r\n\"'`;&");
const SEPARATOR = characterSet(";&?");

function findKeywordPasswords(text: string, report: (start: number, end: number) => void): void {
  PASSWORD_NAME.lastIndex = 0;
  for (let match = PASSWORD_NAME.exec(text); match !== null; match = PASSWORD_NAME.exec(text)) {
    const start = PASSWORD_NAME.lastIndex;
    const bound = Math.min(text.length, start + MAX_USERINFO_LENGTH);
    const quote = match[1];
    let end = start;
    while (end < bound && (quote ? text[end] !== quote : VALUE_STOP[text.charCodeAt(end)] !== 1)) end += 1;
    PASSWORD_NAME.lastIndex = end;
    // Outside a connection string, `password=password` is code. Quotes or a digit make it a value.
    const isValue =
      quote !== "" ||
      SEPARATOR[text.charCodeAt(match.index - 1)] === 1 ||
      text[end] === ";" ||
      end === text.length ||
      /\d/.test(text.slice(start, end));
    const value = text.slice(start, end);
    if (end > start && isValue && !TEMPLATE.test(value) && !EMPTY_VALUE.test(value)) report(start, end);
  }
}

/** `connection_string`: finds the password in `scheme://user:password@host` and in `Key=value;` strings. */
const connectionStringRule: RedactionRule = {
  name: "connection_string",
  find(text, report) {
    for (let index = text.indexOf("://"); index !== -1; index = text.indexOf("://", index + 3)) {
      const password = findUrlPassword(text, index + 3);
      if (password === null) continue;
      const { from, to } = password;
      // In `https://TOKEN:x-oauth-basic@…` the user name is the key.
      if (isRandomValue(text.slice(index + 3, from - 1), 16)) report(index + 3, to);
      else if (!TEMPLATE.test(text.slice(from, to))) report(from, to);
    }
    findKeywordPasswords(text, report);
  },
};

const LATIN = /[\u00C0-\u024F]/;
/** The characters of local parts in practice. Others that RFC 5322 allows are more often part of the surrounding text. */
const LOCAL_PART = characterSet("A-Za-z0-9.%'+_-");
const LOCAL_EDGE = characterSet("A-Za-z0-9_+-");
const DOMAIN = characterSet("A-Za-z0-9.-");
const DOMAIN_EDGE = characterSet(".-");
const MAX_LOCAL_LENGTH = 64;
const MAX_DOMAIN_LENGTH = 255;

const isIn = (set: Uint8Array, text: string, index: number): boolean =>
  set[text.charCodeAt(index)] === 1 || LATIN.test(text.charAt(index));

/** `email_address`: finds addresses of RFC 5321 without quoted local parts; Latin letters are allowed. */
const emailAddressRule: RedactionRule = {
  name: "email_address",
  find(text, report) {
    for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
      let start = at;
      const startBound = Math.max(0, at - MAX_LOCAL_LENGTH);
      while (start > startBound && isIn(LOCAL_PART, text, start - 1)) start -= 1;
      while (start < at && !isIn(LOCAL_EDGE, text, start)) start += 1;
      let end = at + 1;
      const endBound = Math.min(text.length, at + 1 + MAX_DOMAIN_LENGTH);
      while (end < endBound && isIn(DOMAIN, text, end)) end += 1;
      const isCut = end === text.length;
      while (end > at + 1 && DOMAIN_EDGE[text.charCodeAt(end - 1)] === 1) end -= 1;
      const domain = text.slice(at + 1, end);
      if (
        start < at &&
        (isCut ? domain !== "" : /\.(?:[A-Za-z\u00C0-\u024F]{2,63}|xn--[a-z0-9-]{1,59})$/i.test(domain))
      ) {
        report(start, end);
      }
    }
  },
};

/** Digits grouped as on cards (4-4-4-4 and longer, 4-6-5, 4-6-4), or one run of digits. */
const CARD = /\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -])\d{6}\2\d{4,5}|\d{12,19}/y;
const CARD_GAP = characterSet(" -");
const CARD_START = /\d{4}/g;
/** Issuers' ranges: Visa, Mastercard, American Express, Diners, Discover, JCB, UnionPay, Maestro, Mir, RuPay. */
const ISSUER = /^(?:4|5[0-8]|2[2-7]|3[0456789]|6[0-9]|8[12])/;

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 0x30;
    const doubled = index % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** `card_number`: finds 12 to 19 digits of a known issuer that pass the Luhn check (ISO/IEC 7812-1, annex B). */
const cardNumberRule: RedactionRule = {
  name: "card_number",
  find(text, report) {
    CARD_START.lastIndex = 0;
    while (CARD_START.test(text)) {
      const start = CARD_START.lastIndex - 4;
      const runStop = runEnd(text, start, DIGIT, text.length);
      CARD_START.lastIndex = runStop;
      const before = text.charCodeAt(start - 1);
      // After a letter the digits are part of an identifier; after a digit and a point, of a decimal number.
      if (ALPHANUMERIC[before] === 1 || (before === 0x2e && DIGIT[text.charCodeAt(start - 2)] === 1))
        continue;
      if (!ISSUER.test(text.slice(start, start + 2))) continue;
      if (runStop < start + 12 && CARD_GAP[text.charCodeAt(runStop)] !== 1) continue;
      CARD.lastIndex = start;
      const card = CARD.exec(text);
      if (card === null) continue;
      const end = start + card[0].length;
      if (ALPHANUMERIC[text.charCodeAt(end)] === 1) continue;
      const digits = card[0].replaceAll(/[ -]/g, "");
      if (!passesLuhn(digits)) continue;
      report(start, end);
      CARD_START.lastIndex = end;
    }
  },
};

/** The rules that recognise a secret by its context or its structure. */
export const textRules: readonly RedactionRule[] = [
  bearerTokenRule,
  namedSecretRule,
  privateKeyRule,
  jwtRule,
  connectionStringRule,
  emailAddressRule,
  cardNumberRule,
];
