import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as zlib from "node:zlib";
import { createExchangeReader } from "../../core/metering/exchange/exchange-reader.ts";
import { type PricedUsage, priceUsage } from "../../core/pricing/price-usage.ts";
import { USAGE_EXTRAS } from "../../core/pricing/usage-extras.ts";
import type { UsageToPrice } from "../../core/pricing/usage-to-price.ts";
import type { RequestRecord, TokenCounts } from "../../core/values/record.ts";
import { propertyRuns } from "../core/property-runs.rig.ts";
import { type ConformanceCase, loadCases } from "./load-cases.ts";
import { meter, prices, type Split, toExpected } from "./run-case.ts";
import { seededRandom } from "./seeded-random.ts";

const cases = loadCases();

/** Only short cases are split into single bytes. */
const MAX_BYTE_BY_BYTE = 32 * 1024;

const splitBytes: Split = (bytes) => Array.from(bytes, (_, at) => bytes.slice(at, at + 1));

/** Pieces of 1 to 100 bytes, many of them short, and in long inputs a few long ones. */
const randomSplit =
  (seed: number): Split =>
  (bytes) => {
    const random = seededRandom(seed);
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; ) {
      const longest = bytes.length > MAX_BYTE_BY_BYTE ? bytes.length : 100;
      const length = 1 + random(random(3) === 0 ? longest : 9);
      pieces.push(bytes.slice(at, at + length));
      at += length;
    }
    return pieces;
  };

const counts = async (...args: Parameters<typeof meter>) => (await meter(...args)).map(toExpected);

const metered = new Map<ConformanceCase, Promise<RequestRecord[]>>();
/** Returns the records of a whole case, which is metered once for all tests. */
function meterWhole(testCase: ConformanceCase): Promise<RequestRecord[]> {
  const found = metered.get(testCase) ?? meter(testCase);
  metered.set(testCase, found);
  return found;
}
const countsOfWhole = async (testCase: ConformanceCase) => (await meterWhole(testCase)).map(toExpected);

describe("the counts are the same", () => {
  // Planted: the line reader forgets the CR that a cut separates from its LF; the member picker forgets the backslash
  // before a cut.
  it("for any cut of the connection", async () => {
    for (const testCase of cases) {
      const whole = await countsOfWhole(testCase);
      const size = testCase.request.length + testCase.response.length;
      const cuts = Array.from({ length: propertyRuns(1) }, (_, run) => randomSplit(size + run));
      if (size <= MAX_BYTE_BY_BYTE) cuts.push(splitBytes);
      for (const cut of cuts) assert.deepEqual(await counts(testCase, cut), whole, testCase.name);
    }
  });

  // Planted: `br` left out of the decoder's table; every case failed.
  it("for each content encoding, with a length, in chunks or until the connection closes", async () => {
    let variants = 0;
    for (const testCase of cases) {
      const answer = plainAnswer(testCase);
      if (answer === null) continue;
      const whole = await countsOfWhole(testCase);
      for (const [coding, encode] of CODINGS) {
        for (const [framing, frame] of FRAMINGS) {
          // Every encoding is combined with every framing in some case, and each case has every encoding and every framing.
          if (coding !== "identity" && (variants + framing.length) % FRAMINGS.length !== 0) continue;
          const response = frame(answer.head, coding, encode(answer.body));
          const variant = await counts({ ...testCase, response });
          assert.deepEqual(variant, whole, `${testCase.name} as ${coding} ${framing}`);
        }
        variants++;
      }
    }
    assert.ok(variants > 1000, `only ${variants} variants`);
  });
});

type Coding = readonly [coding: string, encode: (body: Uint8Array) => Uint8Array];
const gzip = (body: Uint8Array) => zlib.gzipSync(body);
const zstd = (body: Uint8Array) => zlib.zstdCompressSync(body);
const br = (body: Uint8Array) =>
  zlib.brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 2 } });
const CODINGS: readonly Coding[] = [
  ["identity", (body) => body],
  ["gzip", gzip],
  ["deflate", (body) => zlib.deflateSync(body)],
  ["deflate", (body) => zlib.deflateRawSync(body)],
  ["br", br],
  ["zstd", zstd],
  ["gzip, br", (body) => br(gzip(body))],
  ["deflate,zstd", (body) => zstd(zlib.deflateSync(body))],
];

type Framing = readonly [
  framing: string,
  frame: (head: readonly string[], coding: string, body: Uint8Array) => Uint8Array,
];
const withHead = (lines: readonly string[], ...body: Uint8Array[]): Uint8Array =>
  new Uint8Array(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), ...body]));
const FRAMINGS: readonly Framing[] = [
  [
    "length",
    (head, coding, body) =>
      withHead([...head, `Content-Encoding: ${coding}`, `Content-Length: ${body.length}`], body),
  ],
  [
    "chunks",
    (head, coding, body) =>
      withHead(
        [...head, `content-encoding: ${coding}`, "Transfer-Encoding: chunked"],
        ...randomSplit(body.length || 1)(body).flatMap((piece) => [
          Buffer.from(`${piece.length.toString(16)}\r\n`),
          piece,
          Buffer.from("\r\n"),
        ]),
        Buffer.from("0\r\n\r\n"),
      ),
  ],
  [
    "until the close",
    (head, coding, body) => withHead([...head, `CONTENT-ENCODING: ${coding}`, "Connection: close"], body),
  ],
];

/** A case's only response without its framing; null unless it is one complete response without encoding. */
function plainAnswer(testCase: ConformanceCase): { head: string[]; body: Uint8Array } | null {
  const heads: string[][] = [];
  const body: Uint8Array[] = [];
  let usable = true;
  const markUnusable = () => {
    usable = false;
  };
  const reader = createExchangeReader({
    requestHead() {},
    requestBody() {},
    requestEnd() {},
    informational() {},
    responseHead(_id, head) {
      const kept = head.headers.filter(([name]) => !/^(content-length|transfer-encoding)$/i.test(name));
      if (head.headers.some(([name]) => /^content-encoding$/i.test(name))) markUnusable();
      heads.push([
        `${head.version} ${head.status} ${head.reason}`,
        ...kept.map(([name, value]) => `${name}: ${value}`),
      ]);
    },
    responseBody: (_id, bytes) => body.push(bytes.slice()),
    responseEnd(_id, complete) {
      if (!complete) markUnusable();
    },
    upgraded: markUnusable,
    upgradedBytes() {},
    unreadable: markUnusable,
  });
  reader.push("request", testCase.request, 0);
  reader.push("response", testCase.response, 0);
  reader.end("response", 0);
  if (!usable || heads.length !== 1 || testCase.expected.ended !== "closed") return null;
  return { head: heads[0] as string[], body: new Uint8Array(Buffer.concat(body)) };
}

describe("the cost", () => {
  // Planted: each line rounded up to whole micro-USD; the first search free.
  it("is linear: n times the tokens cost n times as much within one context tier", async () => {
    let seen = 0;
    for (const { usage, priced, name } of await pricedUsages()) {
      for (const times of [2, 3, 10, 0]) {
        const multiplied = priceUsage(scaled(usage, times), prices);
        if (hasNoUsage(scaled(usage, times))) continue;
        if (multiplied.tier !== priced.tier) continue;
        assert.equal(multiplied.costPicoUsd, priced.costPicoUsd! * BigInt(times), `${name} × ${times}`);
        seen++;
      }
    }
    assert.ok(seen > 300, `only ${seen} comparisons`);
  });

  // Planted: the same two.
  it("is additive: two parts cost as much as the whole", async () => {
    for (const { usage, priced, name } of await pricedUsages()) {
      const random = seededRandom(name.length * 7919);
      for (let round = 0; round < 5; round++) {
        const [one, other] = split(usage, random);
        if (hasNoUsage(one) || hasNoUsage(other)) continue;
        const costs = [one, other].map((part) => priceUsage(part, prices));
        if (costs.some(({ tier }) => tier !== priced.tier)) continue;
        assert.equal(costs[0]!.costPicoUsd! + costs[1]!.costPicoUsd!, priced.costPicoUsd!, name);
      }
    }
  });
});

interface Priced {
  name: string;
  usage: UsageToPrice;
  priced: PricedUsage;
}

/** Every usage of the suite that is priced only by its counts: no fee per request, no rounded unit. */
async function pricedUsages(): Promise<Priced[]> {
  const found: Priced[] = [];
  for (const testCase of cases) {
    for (const record of await meterWhole(testCase)) {
      const usage = usageOf(record);
      const priced = priceUsage({ ...usage, providerCostPicoUsd: null }, prices);
      const isPlain = priced.lines.every(({ label, perUnit }) => label !== "request" && perUnit === 1);
      if (priced.costPicoUsd !== null && isPlain) found.push({ name: testCase.name, usage, priced });
    }
  }
  return found;
}

function usageOf(record: RequestRecord): UsageToPrice {
  return {
    provider: record.provider,
    model: record.model,
    requestedModel: record.requestedModel,
    at: record.requestedAt,
    tokens: record.tokens,
    extras: record.usageExtras,
    serviceTier: record.serviceTier,
    providerCostPicoUsd: null,
    requestKind: record.requestKind,
  };
}

/** Whether nothing else of a call without tokens could be billed, so that its cost may be known to be zero. */
const hasNoUsage = ({ tokens, extras }: UsageToPrice) =>
  tokens.promptTokens === null && Object.values(extras ?? {}).every((count) => count === 0);

const isFlag = (name: string) =>
  (USAGE_EXTRAS as Record<string, { partOf: unknown }>)[name]?.partOf === "flag";

function mapUsage(usage: UsageToPrice, change: (count: number, name: string) => number): UsageToPrice {
  const mapped = (values: Readonly<Record<string, number | null>>) =>
    Object.fromEntries(
      Object.entries(values).map(([name, count]) => [
        name,
        count === null || isFlag(name) ? count : change(count, name),
      ]),
    );
  return {
    ...usage,
    tokens: mapped(usage.tokens as unknown as Record<string, number | null>) as unknown as TokenCounts,
    extras: usage.extras === null ? null : (mapped(usage.extras) as Record<string, number>),
  };
}

const scaled = (usage: UsageToPrice, times: number) => mapUsage(usage, (count) => count * times);

/** Two usages that sum to the whole, with each partial count within the count that contains it. */
function split(usage: UsageToPrice, random: (below: number) => number): [UsageToPrice, UsageToPrice] {
  // The larger counts go to one side completely or in half, so that a part never exceeds its whole.
  const half = random(2) === 0;
  const one = mapUsage(usage, (count) => (half ? Math.ceil(count / 2) : count));
  const other = mapUsage(usage, (count) => (half ? Math.floor(count / 2) : 0));
  return [one, other];
}
