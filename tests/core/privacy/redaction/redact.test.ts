import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createRedact, MAX_REDACTED_LENGTH } from "../../../../core/privacy/redaction/redact.ts";
import type { RedactionRule } from "../../../../core/privacy/redaction/rule.ts";

const redact = createRedact();

function redacted(text: string): { text: string; summary: readonly string[] } {
  const result = redact(text);
  assert.ok(result.ok);
  return { text: result.text, summary: result.summary };
}

/** Made-up values, assembled here so that scanners do not report this file as a leak. */
const filler = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gJ5kL7nP9rS1uV3xY5zA7cE9fG1hJ3kM5nP7rT9vX1zB3";
const take = (length: number): string => filler.repeat(4).slice(0, length);
const hex = (length: number): string => "0123456789abcdef".repeat(8).slice(0, length);
const pemLine = `${take(64)}\n`;
const pem = (kind: string, lines = 4): string =>
  `-----BEGIN ${kind}-----\n${pemLine.repeat(lines)}Ab3=\n-----END ${kind}-----`;
const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJ${take(30)}.${take(43)}`;

const secrets: readonly [rule: string, secret: string][] = [
  ["provider_api_key", `sk-ant-api03-${take(90)}`],
  ["provider_api_key", `sk-proj-${take(120)}`],
  ["provider_api_key", `sk-or-v1-${hex(64)}`],
  ["provider_api_key", `sk-${take(48)}`],
  ["provider_api_key", `AIza${take(35)}`],
  ["provider_api_key", `gsk_${take(52)}`],
  ["provider_api_key", `xai-${take(80)}`],
  ["provider_api_key", `hf_${take(34)}`],
  ["provider_api_key", `ABSK${take(120)}`],
  ["provider_api_key", `mtr_sync_${take(43)}`],
  ["provider_api_key", `mtr_admin_${take(64)}`],
  ["provider_api_key", `mtr_invite_${take(64)}`],
  ["cloud_key", "AKIAQ3EGRZ7TPLMN2WXY"],
  ["cloud_key", `GOCSPX-${take(28)}`],
  ["cloud_key", `ya29.${take(60)}`],
  ["cloud_key", `dapi${hex(32)}`],
  ["cloud_key", `sk_live_${take(24)}`],
  ["cloud_key", `xoxb-${"1234567890"}-${take(24)}`],
  ["cloud_key", `SG.${take(22)}.${take(43)}`],
  ["cloud_key", `npm_${take(36)}`],
  ["git_key", `ghp_${take(36)}`],
  ["git_key", `github_pat_${take(82)}`],
  ["git_key", `glpat-${take(20)}`],
  ["private_key", pem("RSA PRIVATE KEY")],
  ["private_key", pem("OPENSSH PRIVATE KEY", 20)],
  ["private_key", `LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tC${take(200)}`],
  ["jwt", jwt],
];

describe("createRedact()", () => {
  for (const [rule, secret] of secrets) {
    it(`finds ${secret.slice(0, 12).split("\n")[0]}… as ${rule}`, () => {
      assert.deepEqual(redacted(`before ${secret} after`), {
        text: `before [redacted:${rule}] after`,
        summary: [rule],
      });
    });
  }

  const found: readonly [why: string, text: string, result: string][] = [
    ["a bearer token", `Authorization: Bearer ${take(12)}`, "Authorization: Bearer [redacted:bearer_token]"],
    [
      "basic credentials",
      "authorization: Basic dXNlcjpwYXNzMQ==",
      "authorization: Basic [redacted:bearer_token]",
    ],
    [
      "a header without a scheme",
      '"Authorization":"k3y-abcdefg"',
      '"Authorization":"[redacted:bearer_token]"',
    ],
    ["a key without a shape", `AZURE_API_KEY=${hex(32)}`, "AZURE_API_KEY=[redacted:named_secret]"],
    [
      "an AWS secret key",
      `aws_secret_access_key = ${take(40)}`,
      "aws_secret_access_key = [redacted:named_secret]",
    ],
    ["a password in JSON", '{"password": "hunter2hunter2"}', '{"password": "[redacted:named_secret]"}'],
    [
      "a URL's password",
      "postgres://u:secret@db:5432/x",
      "postgres://u:[redacted:connection_string]@db:5432/x",
    ],
    ["a password with braces", "amqp://u:{pa}ss@mq/v", "amqp://u:[redacted:connection_string]@mq/v"],
    [
      "a password that begins like an empty value",
      "S=s;Pwd=nullable1;",
      "S=s;Pwd=[redacted:connection_string];",
    ],
    ["a password with a slash", "amqp://u:pa/ss@mq/v", "amqp://u:[redacted:connection_string]@mq/v"],
    ["a password with an at sign", "redis://:p@ss@h:1", "redis://:[redacted:connection_string]@h:1"],
    [
      "an ADO string",
      "Server=s;Password=abc;Database=d",
      "Server=s;Password=[redacted:connection_string];Database=d",
    ],
    ["an ADO string's end", "Server=s;Pwd=abc", "Server=s;Pwd=[redacted:connection_string]"],
    ["a JDBC query", "jdbc:x?user=u&password=abc d", "jdbc:x?user=u&password=[redacted:connection_string] d"],
    ["a quoted password", "connect(password='abc def')", "connect(password='[redacted:connection_string]')"],
    [
      "a libpq password",
      "host=h password=abc1 user=u",
      "host=h password=[redacted:connection_string] user=u",
    ],
    ["an address", "to ann.o'neil+x@mail.example.co.uk.", "to [redacted:email_address]."],
    ["an address in Latin letters", "müller@bücher.example", "[redacted:email_address]"],
    ["an address in angle brackets", "<ann@example.com>", "<[redacted:email_address]>"],
    ["a card", "4111111111111111.", "[redacted:card_number]."],
    ["a card in groups", "(4111 1111 1111 1111)", "([redacted:card_number])"],
    ["a card behind other groups", "1234-4111-1111-1111-1111", "1234-[redacted:card_number]"],
    ["an American Express card", "3782-822463-10005", "[redacted:card_number]"],
    [
      "a key under line numbers",
      pem("PRIVATE KEY", 2)
        .split("\n")
        .map((line, index) => `   ${index + 1}\u2192${line}`)
        .join("\n"),
      "   1\u2192[redacted:private_key]",
    ],
    [
      "a key taken out in a diff",
      pem("PRIVATE KEY", 2)
        .split("\n")
        .map((line) => `-${line}`)
        .join("\n"),
      "-[redacted:private_key]",
    ],
    [
      "an encrypted key with headers",
      `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,${hex(32)}\n\n${pemLine}-----END RSA PRIVATE KEY-----`,
      "[redacted:private_key]",
    ],
    [
      "a PGP key with its checksum, cut off after it",
      `-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n${pemLine}=aB3d\n"`,
      '[redacted:private_key]\n"',
    ],
    ["a key cut off after a line", `-----BEGIN PRIVATE KEY-----\n${pemLine}`, "[redacted:private_key]"],
    ["a key cut off in a line", `-----BEGIN PRIVATE KEY-----\n${pemLine}Ab`, "[redacted:private_key]"],
    [
      "a key that stops in text",
      `-----BEGIN PRIVATE KEY-----\n${pemLine}and so on`,
      "[redacted:private_key]\nand so on",
    ],
    ["a token cut off by the text's end", "key: sk-ant-api03-ab", "key: [redacted:provider_api_key]"],
    ["a bearer token cut off", "Bearer ab", "Bearer [redacted:bearer_token]"],
    ["a JWT cut off", "eyJhbGciOiJIUzI1NiJ9.eyJ", "[redacted:jwt]"],
    ["an address cut off", "ann@exam", "[redacted:email_address]"],
    ["a token behind a backslash that is no escape", `C:\\npm_${take(36)}`, "C:\\[redacted:cloud_key]"],
    ["a legacy key glued to a word", `key${`sk-${take(48)}`}`, "key[redacted:provider_api_key]"],
  ];
  for (const [why, text, result] of found) {
    it(`finds ${why}`, () => assert.equal(redacted(text).text, result));
  }

  const left: readonly [why: string, text: string][] = [
    ["prose about tokens", "the bearer of a token; Bearer authentication, Authorization: required!"],
    ["words with sk- in them", "task-3f2a9b1c-77aa-4b1c-9d2e-001122334455 .sk-circle-fade-dot-animation x"],
    ["code that names keys", "api_key=settings.key; apiKey: process.env.KEY, password: string x"],
    ["a password from a variable", "login(password=password) x"],
    [
      "a password from a template",
      `mongodb://\${user}:\${password}@\${host} redis://:{pw}@h 'a://u:\${db.pw()}@h' x`,
    ],
    ["an empty value in code", "this.password=null;a.pwd=undefined,b=1 c.passwd=false) x"],
    ["an empty password", "postgres://u:@h/d Password=; password=''"],
    ["a URL with a port and a scope", "http://localhost:4873/@types/node x"],
    ["a URL without a password", "https://ann@h/ https://h/a:b@c [x](http://a) x"],
    ["packages and decorators", JSON.stringify("react@18.2.0 @types/node\n@app.route\n@org.junit x")],
    ["numbers that are no cards", "4111111111111112 1111111111111111 0.4111111111111111 x4111111111111111 x"],
    ["digits beside letters", "4111111111111111a 4111-1111 4111 111 1 12345 x"],
    ["a public key", `${pem("PUBLIC KEY")} -----BEGIN PRIVATE KEY----- begins a key`],
    ["a certificate in base64", `LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tC${take(200)} x`],
    ["base64 without a payload", "eyJhbGciOiJIUzI1NiJ9 eyJ.x eyJhbGciOiJIUzI1NiJ9.a x"],
    ["a short token", "ghp_abc AKIAabc sk-short x"],
  ];
  for (const [why, text] of left) {
    it(`leaves ${why} unchanged`, () => assert.deepEqual(redacted(text), { text, summary: [] }));
  }

  it("lists each rule that fired once, sorted", () => {
    assert.deepEqual(redacted(`a@b.co c@d.co ${jwt} x`).summary, ["email_address", "jwt"]);
  });

  it("writes one mark for overlapping findings", () => {
    assert.deepEqual(redacted(`Bearer ${jwt} and postgres://u:ann@example.com/x`), {
      text: "Bearer [redacted:bearer_token] and postgres://u:[redacted:email_address]/x",
      summary: ["bearer_token", "connection_string", "email_address", "jwt"],
    });
  });

  it("keeps JSON valid if the secret is in a string", () => {
    const body = JSON.stringify({ a: `x\n${pem("PRIVATE KEY")}`, b: { c: `"ann@example.com"` } });
    assert.deepEqual(JSON.parse(redacted(body).text), {
      a: "x\n[redacted:private_key]",
      b: { c: '"[redacted:email_address]"' },
    });
  });

  it("finds a secret that a stream splits into parts, and keeps the events valid", () => {
    const parts = ["see sk-a", "nt-api03-", take(30), ` and "more"\n`];
    const events = parts
      .map((text) => `data: ${JSON.stringify({ delta: { type: "text_delta", text } })}\n\n`)
      .join("");
    const result = redacted(`event: x\n${events}`);
    const texts = [...result.text.matchAll(/data: (.*)\n/g)].map(
      ([, json]) => JSON.parse(json as string).delta.text,
    );
    assert.deepEqual(texts, ["see [redacted:provider_api_key]", "", "", ` and "more"\n`]);
  });

  it("joins the parts of newline-delimited JSON and of a JSON array, field by field", () => {
    for (const text of [
      `{"response":"ann@exam","done":false}\n{"response":"ple.com ","done":false}\n`,
      `[{"text": "ann@exam", "content": "x"},\n{"text": "ple.com ", "content": "y"}]`,
    ]) {
      const result = redacted(text);
      assert.deepEqual(result.summary, ["email_address"]);
      assert.ok(!/ann|ple\.com/.test(result.text));
    }
  });

  it("reads a part truncated by the end of the text", () => {
    assert.deepEqual(redacted('data: {"text":"ann@example.com \\').summary, ["email_address"]);
  });

  it("runs an operator's rules after the built-in ones", () => {
    const rule: RedactionRule = {
      name: "acme",
      find: (text, report) => report(text.indexOf("X"), text.indexOf("X") + 1),
    };
    assert.deepEqual(createRedact([rule])("aXb"), { ok: true, text: "a[redacted:acme]b", summary: ["acme"] });
  });

  it("returns no text if a rule fails", () => {
    const rule: RedactionRule = {
      name: "broken",
      find: () => {
        throw new RangeError("no");
      },
    };
    assert.deepEqual(createRedact([rule])("text"), { ok: false, reason: "rule_failed" });
  });

  it("returns no text if the text is too long", () => {
    assert.equal(redact("a".repeat(MAX_REDACTED_LENGTH)).ok, true);
    assert.deepEqual(redact("a".repeat(MAX_REDACTED_LENGTH + 1)), { ok: false, reason: "too_long" });
  });

  /** Every spelling of a character in a JSON string. */
  const escapes: readonly ((character: string) => string)[] = [
    (character) => JSON.stringify(character).slice(1, -1),
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`,
    (character) => (character === "/" ? "\\/" : JSON.stringify(character).slice(1, -1)),
  ];
  const escaped = (secret: string, choices: readonly number[]): string =>
    [...secret]
      .map((character, index) =>
        (escapes[choices[index % choices.length] as number] as (c: string) => string)(character),
      )
      .join("");
  /** What may surround a secret: words, quotes, white space, and characters that occur in no secret. */
  const around = fc.string({
    unit: fc.constantFrom("q", " ", "\n", '"', "(", "é", "\\", ";"),
    maxLength: 12,
    size: "max",
  });

  // Seen to fail with `\n` left out of the unescaped view, with `\u0041` or the `\u005c` of a backslash not read, with
  // the second check of tokens after a backslash left out, and with a boundary required before a token.
  it("finds a planted secret at any position and in any JSON encoding, nested twice", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...secrets),
        fc.oneof(
          around,
          around.map((text) => `${text}\\`),
        ),
        around,
        fc.array(fc.nat(3), { minLength: 1, maxLength: 5 }),
        fc.constantFrom(0, 1, 2),
        ([rule, secret], before, after, choices, depth) => {
          let text =
            JSON.stringify(before).slice(1, -1) + escaped(secret, choices) + escaped(` ${after}`, choices);
          for (let level = 1; level < depth; level += 1) {
            text = JSON.stringify(text).slice(1, -1);
            // The second spelling of a backslash in JSON.
            if (choices[0] === 1) text = text.replaceAll("\\\\", "\\u005c");
          }
          if (depth === 0) text = `${before}${secret} ${after}`;
          const result = redacted(text);
          assert.ok(result.summary.includes(rule), `${rule} in ${text}`);
          const core = secret.slice(secret.length >> 1, (secret.length >> 1) + 8);
          assert.ok(!result.text.includes(core), result.text);
          if (depth === 1) assert.doesNotThrow(() => JSON.parse(`"${result.text}"`));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  // Seen to fail with the minimum length required of a token that the end of the text cuts off.
  it("finds a secret truncated by the end of the text", () => {
    fc.assert(
      fc.property(fc.constantFrom(...secrets), fc.nat(200), ([rule, secret], cut) => {
        const kept = secret.slice(0, secret.length - (cut % (secret.length >> 1)));
        const result = redacted(`x ${kept}`);
        assert.equal(result.text, `x [redacted:${rule}]`);
      }),
      { numRuns: 300 },
    );
  });

  // Seen to fail with the pieces of the joined view left unmarked after the first.
  it("finds a planted secret in a stream, however it is split", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...secrets),
        fc.array(fc.nat(150), { maxLength: 5 }),
        ([rule, secret], cuts) => {
          const bounds = [0, ...cuts.map((cut) => cut % secret.length).sort((a, b) => a - b), secret.length];
          const parts = bounds.slice(1).map((end, index) => secret.slice(bounds[index], end));
          const body = [...parts, " end"].map((text) => `data: ${JSON.stringify({ text })}\n\n`).join("");
          const result = redacted(body);
          assert.ok(result.summary.includes(rule));
          const texts = [...result.text.matchAll(/data: (.*)\n/g)].map(
            ([, json]) => JSON.parse(json as string).text,
          );
          assert.equal(texts.join("").replaceAll(/\[redacted:\w+\]/g, ""), " end");
        },
      ),
      { numRuns: 300 },
    );
  });

  // Seen to fail with a character in the output that was not in the input.
  it("changes only what it marks", () => {
    const unit = fc.constantFrom(
      "a",
      "@",
      ".",
      ":",
      "/",
      "1",
      "-",
      "sk-",
      "eyJ",
      "\\",
      '"',
      "u0041",
      "\n",
      "=",
      " ",
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60, size: "max" }), (text) => {
        const result = redacted(text);
        const kept = result.text.split(/\[redacted:\w+\]/);
        let from = 0;
        for (const piece of kept) {
          const at = text.indexOf(piece, from);
          assert.ok(at >= from);
          from = at + piece.length;
        }
        assert.equal(kept.length > 1, result.summary.length > 0);
      }),
    );
  });
});
