import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isRandomValue } from "../../../../core/privacy/redaction/random-value.ts";
import { createRedact } from "../../../../core/privacy/redaction/redact.ts";
import { ASSIGNMENTS, createPick, draw, SECRET_NAMES, VALUE_KINDS } from "./secret-samples.rig.ts";

const redact = createRedact();
const ALNUM = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

const isFound = (text: string, secret: string): boolean => {
  const result = redact(`${text} \n`);
  return result.ok && result.summary.length > 0 && !result.text.includes(secret.slice(8, 18));
};

describe("named_secret", () => {
  // The whole table is part of the attack suite.
  it("finds 95% of random values under secret names, in each format 90%", () => {
    const pick = createPick(5);
    let all = 0;
    let found = 0;
    for (const [format, write] of ASSIGNMENTS) {
      const texts = SECRET_NAMES.filter((_, index) => index % 4 === 0).flatMap((name) =>
        VALUE_KINDS.map((kind) => {
          const value = kind.make(pick);
          return isFound(write(name, value), value);
        }),
      );
      const hits = texts.filter(Boolean).length;
      assert.ok(hits >= texts.length * 0.9, `${format}: ${hits} of ${texts.length}`);
      all += texts.length;
      found += hits;
    }
    assert.ok(found >= all * 0.95, `${found} of ${all}`);
  });

  const pick = createPick(8);
  const value = `${draw(pick, ALNUM, 14)}7aB2xQ`;
  const phrases: readonly string[] = [
    `curl -u admin:${value} https://h.example`,
    `curl --user "admin:${value}" https://h.example`,
    `mysqldump -u root -p${value} shop`,
    `sshpass -p ${value} ssh h`,
    `redis-cli -h h -a ${value} ping`,
    `docker login -u bob -p ${value} registry`,
    `machine h login bob password ${value}`,
    `CREATE USER u IDENTIFIED BY '${value}';`,
    `ALTER ROLE u WITH PASSWORD '${value}';`,
    `ConvertTo-SecureString "${value}" -AsPlainText`,
    `requests.get(u, auth=("user", "${value}"))`,
    `git config --global github.token ${value}`,
    `Authorization: Digest username="u", response="${value}"`,
    `https://h.example/cb?code=${value}&x=1`,
    `https://h.example/cb?key=${value}`,
    `Cookie: theme=dark; connect.sid=s%3A${value}; lang=en`,
    `{"set-cookie":"remember_web=${value}; Path=/"}`,
    `Cookie: lang=en;web=${value}`,
    `<meta name="csrf-token" content="${value}">`,
    `token: |\n  ${value}\n`,
    `variable "db_password" {\n  default = "${value}"\n}`,
    `API_TOKEN="Bearer ${value}"`,
    `DB_PASSWORD=\`${value}\``,
    `DB_PASSWORD='${value}`,
    `password: "${value}`,
    `the password is ${value}.`,
    `Passwort: ${value}`,
  ];
  for (const text of phrases) {
    it(`finds a value in ${text.replaceAll(value, "…").replaceAll("\n", " ").slice(0, 60)}`, () => {
      assert.ok(isFound(text, value), text);
    });
  }

  it("redacts a long value completely, and finds no name inside it", () => {
    const long = `${value}token=${value}`.repeat(20);
    assert.deepEqual(redact(`API_TOKEN="${long}" `), {
      ok: true,
      text: 'API_TOKEN="[redacted:named_secret]" ',
      summary: ["named_secret"],
    });
  });

  it("reads at most fifty cookies of a header", () => {
    const cookies = `${"a=b; ".repeat(60)}web=${value}`;
    assert.deepEqual(redact(`Cookie: ${cookies} `).ok, true);
    assert.ok(redact(`Cookie: ${cookies} `).ok);
    assert.ok(!isFound(`Cookie: ${cookies}`, value));
  });

  for (const text of [
    "token_count: 4096, max_tokens=8192, total_tokens: 1234567",
    'api_key=os.environ["OPENAI_API_KEY"], apiKey: process.env.OPENAI_API_KEY',
    "password: string; token: Token | null; secret?: boolean",
    'API_KEY="YOUR_API_KEY" api_key = "<your-api-key>" TOKEN=xxxxxxxxxxxxxxxxxxxx',
    `SECRET=\${SECRET_FROM_VAULT} --token \${{ secrets.GITHUB_TOKEN }} {{ .Values.token }}`,
    'const tokenType = "oauth2-bearer"; key: "sha256"; keyId = "v1/keys/2024"',
    "const token = tokens[index2b4d]; secret = readSecret1a2b3c(path)",
    "PublicKeyToken=b77a5c561934e089 publicKey: 04a1b2c3d4e5f6",
    'token: "2024-01-01T00:00:00Z", secret: "1.2.3-beta4"',
    "let password = passwordFromKeychain; auth: BetaManagedAuth2Config",
    "passwords and tokens are secrets, and keys of maps are not",
    'apiKey: "docs/getting-started/authentication.md"',
    "Cookie: theme=dark; lang=en-GB cookie: a cookie = value",
    "monkey: a1B2c3D4e5F6g7H8, compass=a1B2c3D4e5F6g7H8",
    'session_id: "short1"',
    "const s = { imdsV2SessionTokenUrl: imdsV2SessionTokenUrl }",
    "exports.createO200KTokenMap = createO200KTokenMap; exports.jwt = require_jwt_jwt_jwt.jwt;",
    "exports.CompositeToken = exports.id3x7Q2b_1 = class Key {}",
  ]) {
    it(`leaves ${text.slice(0, 50)}… unchanged`, () => {
      assert.deepEqual(redact(`${text} \n`), { ok: true, text: `${text} \n`, summary: [] });
    });
  }
});

describe("isRandomValue()", () => {
  for (const [text, answer] of [
    ["k3fd-9x2m-p0qz-77ab", true],
    ["0123-4567-89ab-cdef", false],
    ["qwrtpsdfghjklzxcvbnm", true],
    ["xKqZbTrWmPvLsNdGhJcF", true],
    ["aXcQeZgWiVkUmRoPqBsT", true],
    ["getAccessTokenFromRequest", false],
    ["HTTPServerErrorHandler", false],
    ["a1a1a1a1a1a1a1a1", false],
    ["correct horse battery 5taple9x2k", false],
    ["abcdefgh", false],
    ["8d9f7a6b", true],
    ["12345678901234567890", false],
    ["short1", false],
    ["a-1-b-2", false],
  ] as const) {
    it(`returns ${answer} for ${text}`, () => assert.equal(isRandomValue(text, 8), answer));
  }
});
