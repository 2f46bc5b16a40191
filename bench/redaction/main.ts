/**
 * `npm run bench:redaction`: what redaction costs over texts made to be slow, in MiB/s and as a ratio to plain prose in
 * the same run, and how its time grows: the time for a whole text over the time for half of it (2 is linear, 4 quadratic)
 * and for a quarter (4 is linear, 16 quadratic). Ends with 1 when one takes more than MAX_GROWTH times as long as its
 * quarter.
 *
 * `node bench/redaction/main.ts [--mib 4] [--rounds 5]`: the size of the whole text, at most 4, and how often each is
 * taken; the quickest round counts, since whatever else the machine does only adds time.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { createRedact, MAX_REDACTED_LENGTH, readLinearPattern } from "../../core/redaction/mod.ts";

const { values: options } = parseArgs({
  options: { mib: { type: "string", default: "4" }, rounds: { type: "string", default: "5" } },
});
const MIB = 1024 * 1024;
const wholeLength = Math.min(Number(options.mib) * MIB, MAX_REDACTED_LENGTH);
const rounds = Number(options.rounds);
/** Between linear (4) and quadratic (16): their geometric mean, which leaves both sides room for noise. */
const MAX_GROWTH = 8;

/** A text of a length. */
type Make = (length: number) => string;
const filled =
  (unit: string, before = "", after = ""): Make =>
  (length) => {
    const room = length - before.length - after.length;
    return before + unit.repeat(Math.ceil(room / unit.length)).slice(0, room) + after;
  };
/** JSON in a JSON string, so many levels deep, with the backslashes that this takes. */
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
  ["a secret in every line", filled(`mail ann@example.com key sk-ant-${"a1".repeat(20)}\n`)],
];

const operator = readLinearPattern("a?a?a?a?a?a?aaaaaab");
if (!operator.ok) throw new Error(`operator's pattern: ${operator.problem}`);
const redact = createRedact([{ name: "operator", find: operator.find }]);

/** The quickest of the rounds, milliseconds; a first one that does not count warms up. */
function measure(text: string): { millis: number; outcome: string } {
  let millis = Number.POSITIVE_INFINITY;
  let outcome = "";
  for (let round = 0; round <= rounds; round++) {
    const started = performance.now();
    const result = redact(text);
    const took = performance.now() - started;
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
process.stdout.write(isLinear ? "\ntime is linear in the text\n" : "\nnot linear\n");
process.exitCode = isLinear ? 0 : 1;
