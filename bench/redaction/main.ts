/**
 * `npm run bench:redaction`: the cost of redaction for texts that are difficult to search, in MiB/s and as a ratio to plain
 * prose in the same run, and its growth: the time for a whole text divided by the time for half of it (2 is linear, 4
 * quadratic) and for a quarter (4 is linear, 16 quadratic). Exits with 1 if any text takes more than MAX_GROWTH times as
 * long as its quarter.
 *
 * `node bench/redaction/main.ts [--mib 4] [--rounds 5]`: the size of the whole text, at most 4 MiB, and the number of
 * rounds. Times are CPU times, and the fastest round counts, because other load only adds time.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { readLinearPattern } from "../../core/privacy/redaction/linear-pattern.ts";
import { createRedact, MAX_REDACTED_LENGTH } from "../../core/privacy/redaction/redact.ts";

const { values: options } = parseArgs({
  options: { mib: { type: "string", default: "4" }, rounds: { type: "string", default: "5" } },
});
const MIB = 1024 * 1024;
const wholeLength = Math.min(Number(options.mib) * MIB, MAX_REDACTED_LENGTH);
const rounds = Number(options.rounds);
/** The geometric mean of linear (4) and quadratic (16), which leaves room for noise on both sides. */
const MAX_GROWTH = 8;

/** Creates a text of a given length. */
type Make = (length: number) => string;
const filled =
  (unit: string, before = "", after = ""): Make =>
  (length) => {
    const room = length - before.length - after.length;
    return before + unit.repeat(Math.ceil(room / unit.length)).slice(0, room) + after;
  };
/** Nests a text in JSON strings. */
const inJson = (text: string, levels: number): string =>
  levels === 0 ? text : inJson(JSON.stringify(text), levels - 1);

const prose = "Rain is wet because it is made of water, and water is what makes things wet. ";
const SUBJECTS: readonly [name: string, make: Make][] = [
  ["plain prose", filled(prose)],
  ["prose as a JSON answer", filled(`{"role":"user","content":"${prose}"},`)],
  ["one letter", filled("a")],
  ["backslashes alone", filled("\\")],
  ["escaped backslashes", filled("\\u005c")],
  ["JSON in JSON, six levels", filled(inJson('{"a":"b c"}', 6))],
  ["open braces and quotes", filled('{"a":')],
  ["prefix of keys again and again: sk-", filled("sk-")],
  ["prefix of keys again and again: sk-ant-", filled("sk-ant-")],
  [
    "prefixes a character too short",
    filled(`sk-proj-${"a1".repeat(7)} ghp_${"a".repeat(29)} AKIA${"A".repeat(15)} `),
  ],
  ["a key without an end", filled("a1B2", "sk-ant-")],
  ["PEM in base64 that holds no key", filled("LS0tLS1CRUdJTi")],
  ["bearer and no token", filled("Bearer ")],
  ["names and no values", filled('api_key = "": password := ')],
  ["authorization, blanks", filled("authorization:    ")],
  ["e-mail: one long local part", filled("a.")],
  ["e-mail: at signs", filled("a@")],
  ["e-mail: domains without an end", filled("a@b.c-")],
  ["e-mail: a domain of labels", filled("b.", "a@")],
  ["PEM: beginnings", filled("-----BEGIN PRIVATE KEY-----\n")],
  ["PEM: hyphens", filled("-")],
  ["PEM: a key without an end", filled(`${"A1b+".repeat(16)}\n`, "-----BEGIN PRIVATE KEY-----\n")],
  ["JWT: beginnings", filled("eyJ")],
  ["JWT: dots", filled("eyJhbGciOiJIUzI1NiJ9.")],
  ["JWT: a header without an end", filled("a1", "eyJ")],
  ["connection strings: schemes", filled("postgres://")],
  ["connection strings: no at sign", filled("u:p", "postgres://u:")],
  ["connection strings: colons", filled("a://b:")],
  ["cards: digits", filled("4")],
  ["cards: groups that fail Luhn", filled("4111 1111 1111 1112 ")],
  ["cards: digits and hyphens", filled("4-")],
  ["a stream of tiny parts", filled('data: {"delta":"s"}\n\n')],
  ["a stream, each part a piece of a key", filled('data: {"delta":"sk-"}\n\n')],
  ["names assigned to names", filled("secret=")],
  ["names of weak words", filled("auth pass key cookie ")],
  ["cookies without an end", filled("a=b;", "cookie: ")],
  ["keywords of services", filled("SK eaa sk_ key- SCW $2b$ Q~ :aa -us ")],
  ["entities that are one letter", filled("&#65;")],
  ["percent-encoding", filled("%41%20")],
  ["zero-width spaces", filled("a\u200B")],
  ["text in base64", filled("c2stYW50LWFwaTAzLWFhYWFhYWFhYWFhYSBoZWxsbyB3b3JsZCB0b2tlbj0g")],
  ["text in hexadecimal digits", filled("746f6b656e3d2061")],
  ["a secret in every line", filled(`mail ann@example.com key sk-ant-${"a1".repeat(20)}\n`)],
];

const operator = readLinearPattern("a?a?a?a?a?a?aaaaaab");
if (!operator.ok) throw new Error(`operator's pattern: ${operator.problem}`);
const redact = createRedact([{ name: "operator", find: operator.find }]);

/** Returns the time of the fastest round in milliseconds, after one round to warm up. */
function measure(text: string): { millis: number; outcome: string } {
  let millis = Number.POSITIVE_INFINITY;
  let outcome = "";
  for (let round = 0; round <= rounds; round++) {
    const started = process.cpuUsage();
    const result = redact(text);
    const { user, system } = process.cpuUsage(started);
    const took = (user + system) / 1_000;
    if (round > 0) millis = Math.min(millis, took);
    outcome = result.ok ? result.summary.join(" ") : result.reason;
  }
  return { millis, outcome };
}

const print = (cells: readonly string[]) =>
  process.stdout.write(
    `${cells.map((cell, at) => (at === 0 ? cell.padEnd(42) : at < 5 ? cell.padStart(9) : `  ${cell}`)).join("")}\n`,
  );
print(["", "MiB/s", "× prose", "2n / n", "4n / n", "found"]);
let proseMillis = 0;
let isLinear = true;
for (const [name, make] of SUBJECTS) {
  const quarter = measure(make(wholeLength / 4));
  const half = measure(make(wholeLength / 2));
  const whole = measure(make(wholeLength));
  if (proseMillis === 0) proseMillis = whole.millis;
  const growth = whole.millis / quarter.millis;
  if (growth > MAX_GROWTH) isLinear = false;
  print([
    name,
    (wholeLength / MIB / (whole.millis / 1000)).toFixed(1),
    (whole.millis / proseMillis).toFixed(2),
    (whole.millis / half.millis).toFixed(2),
    growth.toFixed(2),
    whole.outcome,
  ]);
}
process.stdout.write(
  isLinear
    ? "\nThe time is linear in the text's length.\n"
    : "\nThe time is not linear in the text's length.\n",
);
process.exitCode = isLinear ? 0 : 1;
