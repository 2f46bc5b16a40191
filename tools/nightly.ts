/**
 * `npm run nightly`: runs at length what the checks run briefly (kills, an update, faults, power cuts, properties), an hour of load, and the
 * time budgets of pages. Prints a table of verdicts, writes them with all figures to `--out FILE` (JSON), and exits with 1 if a part
 * failed. `--rounds N` (1,000) is the number of kills overall, `--cuts N` (200) that of power cuts, `--minutes N` (60) the length of the
 * load; `--only NAME` runs one part.
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "1000" },
    cuts: { type: "string", default: "200" },
    minutes: { type: "string", default: "60" },
    seed: { type: "string", default: new Date().toISOString().slice(0, 10) },
    out: { type: "string", default: "nightly.json" },
    only: { type: "string", multiple: true },
  },
});

/** A part of the run. `limitMinutes` is generous: it ends a part that hangs. */
interface Part {
  readonly name: string;
  readonly words: readonly string[];
  readonly limitMinutes: number;
  readonly env?: Readonly<Record<string, string>>;
}

const rounds = Number(values.rounds);
/** Half of the kills hit the daemon with its cloud and PostgreSQL, the rest a supervised daemon, its relay, or a daemon whose budgets block. */
const half = Math.ceil(rounds / 2);
const sixth = Math.ceil((rounds - half) / 3);
const parts: readonly Part[] = [
  { name: "sync", words: chaos("chaos-sync", ["--rounds", `${half}`]), limitMinutes: 10 + half },
  {
    name: "kills",
    words: chaos("chaos-kills", ["--rounds", `${rounds - half - 2 * sixth}`]),
    limitMinutes: 10 + half,
  },
  {
    name: "relay",
    words: chaos("chaos-kills", ["--rounds", `${sixth}`, "--victim", "relay"]),
    limitMinutes: 10 + half,
  },
  { name: "budgets", words: chaos("chaos-budgets", ["--rounds", `${sixth}`]), limitMinutes: 10 + half },
  { name: "update", words: chaos("chaos-update", ["--rounds", "20"]), limitMinutes: 60 },
  { name: "faults", words: chaos("chaos-local", []), limitMinutes: 60 },
  {
    name: "power",
    words: chaos(
      "chaos-power",
      ["--cuts", "--database-cuts", "--postgres-cuts"].flatMap((each) => [each, values.cuts]),
    ),
    limitMinutes: 240,
  },
  {
    name: "pages",
    words: ["bench/queries/main.ts", "--requests", "100000,300000", "--rounds", "20"],
    limitMinutes: 60,
  },
  { name: "pictures", words: ["tools/write-pictures.ts", "--check"], limitMinutes: 30 },
  { name: "build", words: ["tools/build.ts"], limitMinutes: 20 },
  // Measures the program that the previous part built.
  { name: "reports", words: ["bench/reports/main.ts"], limitMinutes: 90 },
  // All tests, on both databases, with five times the runs of their properties, and with all rules for pages in every view.
  ...["main", "browser", "faults"].map((part) => ({
    name: part === "main" ? "tests" : `tests-${part}`,
    words: ["tools/run-tests.ts", "--part", part],
    env: { METER_PROPERTY_RUNS: "5" },
    limitMinutes: 170,
  })),
  {
    name: "soak",
    words: ["bench/soak/main.ts", "--minutes", values.minutes],
    limitMinutes: 60 + 2 * Number(values.minutes),
  },
];

function chaos(tool: string, words: readonly string[]): string[] {
  return [`tools/${tool}.ts`, "--seed", values.seed, ...words];
}

/** The result of a part. */
interface Verdict {
  readonly name: string;
  readonly command: string;
  readonly ok: boolean;
  readonly seconds: number;
  /** The JSON that the part printed last; null if it prints none. */
  readonly figures: unknown;
  /** The end of its output. */
  readonly lastLines: readonly string[];
}

const LAST_LINES = 8;

async function run({ name, words, limitMinutes, env = {} }: Part): Promise<Verdict> {
  const started = performance.now();
  const child = spawn(process.execPath, words, {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    stdio: ["ignore", "pipe", "inherit"],
    // This may run at a low priority beside other work.
    env: { METER_TEST_PATIENCE_MS: "300000", ...env, ...process.env },
    signal: AbortSignal.timeout(limitMinutes * 60_000),
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    process.stdout.write(text);
  });
  const code = await new Promise<number | null>((resolve) => {
    child.on("error", () => resolve(null));
    child.on("close", (exitCode) => resolve(exitCode));
  });
  return {
    ...{ name, command: `node ${words.join(" ")}`, ok: code === 0 },
    seconds: Math.round((performance.now() - started) / 1_000),
    figures: readFigures(output),
    lastLines: output.trimEnd().split("\n").slice(-LAST_LINES),
  };
}

/** Reads the JSON object at the end of an output. */
function readFigures(output: string): unknown {
  const from = output.startsWith("{\n") ? 0 : output.lastIndexOf("\n{\n") + 1;
  try {
    return JSON.parse(output.slice(from));
  } catch {
    return null;
  }
}

const unknown = (values.only ?? []).filter((name) => !parts.some((part) => part.name === name));
if (unknown.length > 0) {
  process.stderr.write(
    `Unknown part: ${unknown.join(", ")}. Expected: ${parts.map(({ name }) => name).join(", ")}\n`,
  );
  process.exit(2);
}
const verdicts: Verdict[] = [];
for (const part of parts.filter(({ name }) => values.only?.includes(name) ?? true)) {
  process.stdout.write(`\n${part.name}: node ${part.words.join(" ")}\n`);
  verdicts.push(await run(part));
}
writeFileSync(values.out, `${JSON.stringify({ seed: values.seed, parts: verdicts }, null, 2)}\n`);
process.stdout.write("\n");
for (const { name, ok, seconds, command } of verdicts)
  process.stdout.write(
    `${ok ? "ok    " : "FAILED"} ${name.padEnd(13)} ${`${seconds} s`.padStart(8)}  ${command}\n`,
  );
process.stdout.write(`\nAll figures: ${values.out}\n`);
process.exit(verdicts.every(({ ok }) => ok) ? 0 : 1);
