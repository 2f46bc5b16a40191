/**
 * Fuzzes everything that reads a provider's bytes, guided by coverage: `core/metering/exchange`, `core/metering/usage`,
 * `core/metering/classify` and `core/pricing`. It mutates the conformance suite and keeps each input that reaches new code,
 * measured with V8's precise coverage. Five properties must hold for every input: nothing throws, reading takes time
 * bounded by the input's length, memory is bounded, the report does not depend on how the bytes are split, and no count is
 * impossible.
 *
 * `node tools/fuzz-usage.ts [--bytes 100000000] [--seed 1] [--out FOLDER]`; exits with 1 on a finding.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as v8 from "node:v8";
import { runInNewContext } from "node:vm";
import type { UsageReport } from "../core/metering/usage/usage-report.ts";
import type { ExpectedCase } from "../tests/conformance/case-format.ts";
import { type ConformanceCase, loadCases } from "../tests/conformance/load-cases.ts";
import { readBody, readConnection, routeOf } from "../tests/conformance/read-bytes.ts";
import type { Split } from "../tests/conformance/run-case.ts";
import { seededRandom } from "../tests/conformance/seeded-random.ts";

const { values: options } = parseArgs({
  options: {
    bytes: { type: "string", default: "100000000" },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
  },
});
const bytesToRead = Number(options.bytes);
const seed = Number(options.seed);
const outFolder = options.out ?? join(tmpdir(), `fuzz-usage-${seed}`);

/** Larger seeds are skipped, and inputs never grow beyond this size: many short inputs find more than a few long ones. */
const MAX_INPUT_BYTES = 16 * 1024;
/** Number of inputs between two readings of the coverage. If a batch reached new code, its inputs are run one by one. */
const BATCH = 256;
/** Time that any input may take in addition to `MILLIS_PER_KB`, for garbage collection and other load. */
const GRACE_MS = 100;
const MILLIS_PER_KB = 2;
/** Maximum growth of heap and buffers since the start, including the corpus, after a collection. */
const MAX_GROWTH_BYTES = 96 * 1024 * 1024;
/** Number of bytes pushed through one reader to measure its memory. */
const FLOOD_BYTES = 24 * 1024 * 1024;
const MAX_FLOOD_GROWTH_BYTES = 40 * 1024 * 1024;

const random = seededRandom(seed);
v8.setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** An input: both directions of a connection, or a decoded body, which reaches deeper code. */
interface Input {
  origin: string;
  address: ExpectedCase["address"];
  request: Uint8Array;
  response: Uint8Array;
  /** The status if `response` is a body; null for whole connections. */
  bodyStatus: number | null;
  complete: boolean;
}

type Finding = {
  kind: "throws" | "slow" | "split_variant" | "impossible" | "memory";
  detail: string;
  input: Input;
};

function read(input: Input, split?: Split): unknown {
  if (input.bodyStatus === null) return readConnection(input.address, input.request, input.response, split);
  const route = routeOf(input.request, input.address);
  return route && readBody(route, input.bodyStatus, input.response, input.complete, split);
}

const asText = (value: unknown) =>
  JSON.stringify(value, (_, member) => {
    if (typeof member === "bigint") return `${member}n`;
    return member instanceof Map ? [...member] : member;
  });

function splitAnywhere(state: number): Split {
  const next = seededRandom(state);
  return (bytes) => {
    const pieces: Uint8Array[] = [];
    const longest = [1, 3, 20, 400][next(4)] as number;
    for (let at = 0; at < bytes.length; ) {
      const length = 1 + next(longest);
      // A copy, so that code which keeps a view beyond its call is detected.
      pieces.push(bytes.slice(at, at + length));
      at += length;
    }
    return pieces;
  };
}

/** Reads the input whole and split. Returns the first violated property, or null. */
function check(input: Input, splitSeed: number): Omit<Finding, "input"> | null {
  const size = input.request.length + input.response.length;
  const started = performance.now();
  let result: unknown;
  let whole: string;
  let split: string;
  try {
    result = read(input);
    whole = asText(result);
    split = asText(read(input, splitAnywhere(splitSeed)));
  } catch (cause) {
    return {
      kind: "throws",
      detail: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause),
    };
  }
  if (performance.now() - started > GRACE_MS + (size / 1024) * MILLIS_PER_KB) {
    // A single slow run may be noise: the fastest of three more runs counts.
    const times = [0, 1, 2].map(() => {
      const again = performance.now();
      read(input);
      return performance.now() - again;
    });
    const fastest = Math.min(...times);
    if (fastest > GRACE_MS + (size / 1024) * MILLIS_PER_KB)
      return { kind: "slow", detail: `${fastest.toFixed(0)} ms for ${size} bytes` };
  }
  const impossible = findImpossible(Array.isArray(result) ? result.flat() : [result]);
  if (impossible !== null) return { kind: "impossible", detail: impossible };
  return whole === split ? null : { kind: "split_variant", detail: `whole: ${whole}\nsplit: ${split}` };
}

/** Describes an impossible count in a report or its results; null if there is none. */
function findImpossible(values: readonly unknown[]): string | null {
  for (const value of values) {
    const report = value as Partial<UsageReport> | null | undefined;
    if (report?.tokens === undefined) continue;
    const { cacheWriteTokens, cacheWrite1hTokens } = report.tokens;
    const counts = [...Object.values(report.tokens), ...Object.values(report.extras ?? {})];
    const isCount = (count: number | null) => count === null || (Number.isSafeInteger(count) && count >= 0);
    if (!counts.every(isCount) || (cacheWrite1hTokens ?? 0) > (cacheWriteTokens ?? 0)) return asText(report);
    const within = findImpossible(report.results ?? []);
    if (within !== null) return within;
  }
  return null;
}

// ---- coverage ----------------------------------------------------------------------------------------------------

interface CoverageResult {
  result: {
    url: string;
    functions: { ranges: { startOffset: number; endOffset: number; count: number }[] }[];
  }[];
}

const session = new Session();
session.connect();
function post(method: string, params: object = {}): unknown {
  let answer: unknown;
  session.post(method, params, (failure, result) => {
    if (failure) throw failure;
    answer = result;
  });
  return answer;
}

/** The executed characters of each source file, and their total number. */
const executed = new Map<string, Uint8Array>();
let executedCount = 0;

/** Reads the coverage since the last call. Returns the number of newly executed characters. */
function takeCoverage(): number {
  const before = executedCount;
  const { result } = post("Profiler.takePreciseCoverage") as CoverageResult;
  for (const { url, functions } of result) {
    const file = /\/core\/(?:metering\/(?:exchange|usage|classify)|pricing)\/.*$/.exec(url)?.[0];
    if (file === undefined || file.endsWith(".data.ts")) continue;
    for (const { ranges } of functions) {
      const whole = ranges[0];
      if (whole === undefined || whole.count === 0) continue;
      const marks = marksFor(file, whole.endOffset);
      // Ranges are nested, outer ones first. An inner range overrides the outer one.
      const here = new Uint8Array(whole.endOffset - whole.startOffset);
      for (const { startOffset, endOffset, count } of ranges)
        here.fill(count > 0 ? 1 : 0, startOffset - whole.startOffset, endOffset - whole.startOffset);
      for (let at = 0; at < here.length; at++) {
        if (here[at] === 0 || marks[whole.startOffset + at] === 1) continue;
        marks[whole.startOffset + at] = 1;
        executedCount++;
      }
    }
  }
  return executedCount - before;
}

/** The coverage at the start of a batch. A batch that reached new code is run again from there. */
let known = new Map<string, Uint8Array>();
let knownCount = 0;

function rememberCoverage(): void {
  known = new Map([...executed].map(([file, marks]) => [file, marks.slice()]));
  knownCount = executedCount;
}

function marksFor(file: string, length: number): Uint8Array {
  let marks = executed.get(file);
  if (marks === undefined || marks.length < length) {
    const grown = new Uint8Array(length + 1024);
    if (marks !== undefined) grown.set(marks);
    executed.set(file, (marks = grown));
  }
  return marks;
}

// ---- inputs ------------------------------------------------------------------------------------------------------

const HEAD_END = "\r\n\r\n";

function inputsOf(testCase: ConformanceCase): Input[] {
  const { name, request, response, expected } = testCase;
  if (response.length > MAX_INPUT_BYTES) return [];
  const connection: Input = {
    origin: name,
    address: expected.address,
    request,
    response,
    bodyStatus: null,
    complete: true,
  };
  const text = new TextDecoder("latin1").decode(response);
  const head = text.indexOf(HEAD_END);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
  if (
    head === -1 ||
    routeOf(request, expected.address) === null ||
    /content-encoding/i.test(text.slice(0, head))
  )
    return [connection];
  // A chunked body keeps its framing: the chunk sizes are noise between events, as from a broken server.
  const body: Input = { ...connection, response: response.slice(head + HEAD_END.length), bodyStatus: status };
  return [connection, body, { ...body, complete: false }];
}

const WORDS = [
  ...'{}[]",:\\ \n\r\t0-e.',
  '"usage":',
  '"usage":null',
  '"usage":{',
  '"error":{"code":429}',
  '"type":"error"',
  '"model":"m"',
  '"choices":[]',
  '"done":true',
  "data: ",
  "data: [DONE]\n\n",
  "event: error\n",
  "\n\n",
  "\r\n\r\n",
  "\u{feff}",
  "9007199254740993",
  "-1",
  "1e400",
  "1.5",
  "null",
  "true",
  "\\u0075",
  "\\ud800",
  "\\\\",
  "[[[[[[[[",
  '{"a":{"a":{"a":',
  "0\r\n\r\n",
  "ffffffffffffffff\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Content-Length: 5\r\n",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 200 OK\r\n\r\n",
].map((word) => new TextEncoder().encode(word));

const joinBytes = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts)).slice(0, MAX_INPUT_BYTES);

/** Values that a provider could send instead of a number. */
const NUMBERS = [
  "0",
  "-1",
  "1.5",
  "1e3",
  "1e400",
  "9007199254740991",
  "9007199254740993",
  "null",
  '"7"',
  "[1]",
  "{}",
].map((word) => new TextEncoder().encode(word));

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** Changes bytes in one of many ways. `other` supplies bytes to insert. */
function mutateBytes(bytes: Uint8Array, other: Uint8Array): Uint8Array {
  const at = random(bytes.length + 1);
  const length = 1 + random(random(4) === 0 ? 400 : 12);
  const before = bytes.subarray(0, at);
  switch (random(10)) {
    case 0: {
      const changed = bytes.slice();
      if (changed.length > 0) changed[at % changed.length]! ^= 1 << random(8);
      return changed;
    }
    case 1:
      return joinBytes(before, bytes.subarray(at + length));
    case 2:
      return joinBytes(bytes.subarray(0, at + length), bytes.subarray(at));
    case 3:
      return joinBytes(before, WORDS[random(WORDS.length)]!, bytes.subarray(at));
    case 4:
      return joinBytes(before, WORDS[random(WORDS.length)]!, bytes.subarray(at + length));
    case 5: {
      const from = random(other.length + 1);
      return joinBytes(before, other.subarray(from, from + length * 8), bytes.subarray(at));
    }
    case 6:
      return bytes.slice(0, at);
    case 7:
      return joinBytes(before, other.subarray(random(other.length + 1)));
    case 8: {
      let from = at;
      while (from < bytes.length && !isDigit(bytes[from])) from++;
      let to = from;
      while (isDigit(bytes[to])) to++;
      return joinBytes(bytes.subarray(0, from), NUMBERS[random(NUMBERS.length)]!, bytes.subarray(to));
    }
    default: {
      // Replaces a digit, so that counts contradict each other.
      const changed = bytes.slice();
      for (let tries = 0; tries < 20; tries++) {
        const place = random(changed.length || 1);
        if (isDigit(changed[place])) {
          changed[place] = 0x30 + random(10);
          break;
        }
      }
      return changed;
    }
  }
}

function mutate(corpus: readonly Input[]): Input {
  // In half of the cases, one of the newest inputs, which reached new code.
  const recent = random(2) === 0 ? Math.max(0, corpus.length - 200) : 0;
  const parent = corpus[recent + random(corpus.length - recent)]!;
  const other = corpus[random(corpus.length)]!;
  let { request, response } = parent;
  for (let steps = 1 + random(4); steps > 0; steps--) {
    if (parent.bodyStatus === null && random(5) === 0) request = mutateBytes(request, other.request);
    else response = mutateBytes(response, other.response);
  }
  return { ...parent, request, response };
}

/** Runs a batch that reached new code again, one input at a time, and keeps the inputs that reach it. */
function keepNewInputs(corpus: Input[], batch: readonly Input[]): void {
  const [all, count] = [new Map(executed), executedCount];
  executed.clear();
  for (const [file, marks] of known) executed.set(file, marks);
  executedCount = knownCount;
  for (const input of batch) {
    read(input);
    if (takeCoverage() > 0 && input.response.length > 0) corpus.push(input);
  }
  // These runs do not split the inputs. Code that only a split input reached is in the batch's own coverage, so that counts.
  for (const [file, marks] of all) executed.set(file, marks);
  executedCount = count;
  rememberCoverage();
}

// ---- the run -----------------------------------------------------------------------------------------------------

const findings: Finding[] = [];
const seenFindings = new Set<string>();

function report(finding: Finding): void {
  const shortened = shorten(finding);
  // One finding per place that throws, and per origin for the others.
  const key =
    finding.kind === "throws"
      ? finding.detail.split("\n", 3).join()
      : `${finding.kind} ${finding.input.origin}`;
  if (seenFindings.has(key)) return;
  seenFindings.add(key);
  findings.push(shortened);
  const folder = join(outFolder, String(findings.length));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "request.http"), shortened.input.request);
  writeFileSync(join(folder, "response.http"), shortened.input.response);
  const { kind, detail, input } = shortened;
  const { origin, address, bodyStatus, complete } = input;
  const about = { kind, origin, address, bodyStatus, complete, detail };
  writeFileSync(join(folder, "finding.json"), `${JSON.stringify(about, null, 2)}\n`);
  console.log(
    `finding ${findings.length}: ${kind} from ${origin}, saved in ${folder}\n${detail.slice(0, 600)}`,
  );
}

/** Removes pieces from an input while it still has the same finding. */
function shorten(finding: Finding): Finding {
  if (finding.kind === "slow" || finding.kind === "memory") return finding;
  let current = finding;
  for (let size = current.input.response.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < current.input.response.length; ) {
      const { response } = current.input;
      const input = {
        ...current.input,
        response: joinBytes(response.subarray(0, at), response.subarray(at + size)),
      };
      const found = [3, 5, 7, 11, 13]
        .map((state) => check(input, state))
        .find((one) => one?.kind === finding.kind);
      if (found) current = { ...found, input };
      else at += size;
    }
  }
  return current;
}

function memoryInUse(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Pushes much more through each reader than it may keep, in the shape of a seed that never ends. */
function flood(input: Input): void {
  const route = routeOf(input.request, input.address);
  if (route === null || input.bodyStatus === null || input.response.length === 0) return;
  const start = memoryInUse();
  let peak = 0;
  const endless: Split = (bytes) =>
    ({
      *[Symbol.iterator]() {
        const half = bytes.length >> 1;
        yield bytes.subarray(0, half);
        // Repeats the middle: an endless string, number or list.
        const middle = new Uint8Array(64 * 1024);
        for (let at = 0; at < middle.length; at++)
          middle[at] = bytes[half + (at % Math.min(9, bytes.length - half))]!;
        for (let pushed = 0; pushed < FLOOD_BYTES; pushed += middle.length) {
          yield middle;
          if (pushed % (8 * 1024 * 1024) === 0) peak = Math.max(peak, memoryInUse());
        }
        yield bytes.subarray(half);
      },
    }) as unknown as Uint8Array[];
  readBody(route, input.bodyStatus, input.response, true, endless);
  if (peak - start > MAX_FLOOD_GROWTH_BYTES)
    report({ kind: "memory", detail: `${peak - start} bytes for ${FLOOD_BYTES} bytes of input`, input });
}

const corpus = loadCases().flatMap(inputsOf);
post("Profiler.enable");
post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

const startedAt = performance.now();
let inputs = 0;
let bytesRead = 0;
for (const input of corpus) {
  const found = check(input, 1 + random(1e9));
  if (found) report({ ...found, input });
}
takeCoverage();
rememberCoverage();
const coveredBySeeds = executedCount;
if (coveredBySeeds === 0) throw new Error("no code of core/ was covered: were its folders moved?");
const seeds = corpus.length;

const floodedApis = new Set<string>();
for (const input of corpus) {
  const api = `${input.origin.split("/", 1)} ${input.response[0]}`;
  if (input.bodyStatus === 200 && !floodedApis.has(api)) {
    floodedApis.add(api);
    flood(input);
  }
}
console.log(
  `${seeds} seeds reach ${coveredBySeeds} characters of source; memory bounded in ${floodedApis.size} floods of ${FLOOD_BYTES / 1e6} MB`,
);

takeCoverage();
rememberCoverage();
const memoryAtStart = memoryInUse();
let mostMemory = 0;
const fuzzingSince = performance.now();
let nextLine = fuzzingSince + 10_000;
while (bytesRead < bytesToRead) {
  const batch = Array.from({ length: BATCH }, () => [mutate(corpus), 1 + random(1e9)] as const);
  for (const [input, state] of batch) {
    const found = check(input, state);
    if (found) report({ ...found, input });
    bytesRead += input.request.length + input.response.length;
    inputs++;
  }
  if (takeCoverage() > 0)
    keepNewInputs(
      corpus,
      batch.map(([input]) => input),
    );
  if (inputs % (BATCH * 25) === 0) {
    const growth = memoryInUse() - memoryAtStart;
    mostMemory = Math.max(mostMemory, growth);
    if (growth > MAX_GROWTH_BYTES) {
      report({ kind: "memory", detail: `${growth} bytes more than at the start`, input: batch[0]![0] });
      break;
    }
  }
  if (performance.now() > nextLine) {
    nextLine += 10_000;
    const perSecond = bytesRead / (performance.now() - fuzzingSince) / 1000;
    console.log(
      `${(bytesRead / 1e6).toFixed(0)} MB, ${inputs} inputs, ${perSecond.toFixed(2)} MB/s, corpus ${corpus.length}, ${executedCount} characters`,
    );
  }
}

const seconds = (performance.now() - fuzzingSince) / 1000;
console.log(
  [
    `read ${bytesRead} bytes in ${inputs} inputs, each whole and split, in ${seconds.toFixed(1)} s: ${(bytesRead / seconds / 1e6).toFixed(2)} MB/s`,
    `coverage: ${coveredBySeeds} characters of source by the seeds, ${executedCount} at the end; corpus ${seeds} + ${corpus.length - seeds}`,
    `memory: at most ${(mostMemory / 1e6).toFixed(1)} MB above the start; whole run ${((performance.now() - startedAt) / 1000).toFixed(0)} s`,
    `findings: ${findings.length}`,
  ].join("\n"),
);
process.exitCode = findings.length === 0 ? 0 : 1;
