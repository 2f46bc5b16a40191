import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as zlib from "node:zlib";
import { createExchangeReader } from "../../core/metering/exchange/exchange-reader.ts";
import { headerValue } from "../../core/metering/exchange/head.ts";
import { DIALECTS } from "../../core/metering/usage/dialects.ts";
import type { PathRule } from "../../core/metering/usage/path-rules.ts";
import { PROVIDERS } from "../../core/metering/usage/providers.ts";
import { createRegistry } from "../../core/metering/usage/registry.ts";
import { readSource, sourceFiles } from "../project/source-files.rig.ts";
import { type ConformanceCase, loadCases } from "./load-cases.ts";

const registry = createRegistry();

/** The members in which providers state usage. */
const USAGE =
  /"(usage|usageMetadata|usage_metadata|model_usage|billed_units|usage_info|per_model_usage|prompt_eval_count|token_count|cost_in_usd_ticks)"\s*:\s*\{?\s*["\d]/;

const DECODERS: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  gzip: (bytes) => zlib.gunzipSync(bytes),
  deflate: (bytes) => zlib.inflateSync(bytes),
  br: (bytes) => zlib.brotliDecompressSync(bytes),
  zstd: (bytes) => zlib.zstdDecompressSync(bytes),
};

interface Exchange {
  method: string;
  target: string;
  encoding: string;
  body: Uint8Array[];
}

function exchangesOf({ request, response }: ConformanceCase): Exchange[] {
  const exchanges = new Map<number, Exchange>();
  const reader = createExchangeReader({
    requestHead: (id, { method, target }) =>
      void exchanges.set(id, { method, target, encoding: "identity", body: [] }),
    requestBody() {},
    requestEnd() {},
    informational() {},
    responseHead(id, head) {
      const exchange = exchanges.get(id);
      if (exchange) exchange.encoding = headerValue(head.headers, "content-encoding") ?? "identity";
    },
    responseBody: (id, bytes) => void exchanges.get(id)?.body.push(bytes.slice()),
    responseEnd() {},
    upgraded() {},
    upgradedBytes() {},
    unreadable() {},
  });
  reader.push("request", request, 0);
  reader.push("response", response, 0);
  return [...exchanges.values()];
}

function statesUsage({ encoding, body }: Exchange): boolean {
  const bytes = Buffer.concat(body);
  try {
    return USAGE.test(Buffer.from(DECODERS[encoding]?.(bytes) ?? bytes).toString("utf8"));
  } catch {
    // A body that is cut or encoded twice. Other cases have the same path.
    return false;
  }
}

describe("the paths that are free", () => {
  it("are none of those whose responses state usage, in any case of the suite", () => {
    let withUsage = 0;
    for (const testCase of loadCases()) {
      const { host, port } = testCase.expected.address;
      for (const exchange of exchangesOf(testCase)) {
        if (!statesUsage(exchange)) continue;
        withUsage++;
        const { method, target } = exchange;
        const { kind } = registry.match({ host, port, method, path: target });
        assert.notEqual(kind, "free", `${testCase.name}: ${method} ${host}${target} states usage`);
      }
    }
    assert.ok(withUsage > 200, `${withUsage} exchanges with usage`);
  });

  it("are none of those that a test's fixture pairs with usage", () => {
    let found = 0;
    for (const file of sourceFiles("tests"))
      for (const line of readSource(file).split("\n")) {
        if (!/\busage(Metadata)?\b|\bbilled_units\b|readAnswer\(/.test(line)) continue;
        const [, urlHost, urlPath] = /"https?:\/\/([a-z0-9.-]+)(\/[^"\s]*)"/.exec(line) ?? [];
        const host = urlHost ?? /\bhost: "([^"]+)"/.exec(line)?.[1];
        const path = urlPath ?? /\bpath: "([^"]+)"/.exec(line)?.[1];
        if (host === undefined || path === undefined || !registry.isProviderHost(host, 443)) continue;
        if (/^\s*"(GET|POST) https/.test(line)) continue;
        found++;
        const { kind } = registry.match({ host, port: 443, method: "POST", path });
        assert.notEqual(kind, "free", `${file}: ${line.trim()}`);
      }
    assert.ok(found >= 5, `${found} fixtures`);
  });

  /** Reads pages of a website on an API's host. */
  const WEBSITES = ["openrouter.ai", "ollama.com", "chatgpt.com"];

  const rules: [owner: string, rule: PathRule][] = [
    ...Object.entries(DIALECTS).flatMap(([name, list]) =>
      list.map((rule): [string, PathRule] => [name, rule]),
    ),
    ...PROVIDERS.flatMap(({ hosts, paths = [] }) =>
      paths.map((rule): [string, PathRule] => [hosts[0] as string, rule]),
    ),
  ];

  /** Accounts, telemetry and tools: the paths below these never call a model. */
  const OPEN_TO_WRITES = [
    String.raw`anthropic ^\/organizations\/.+$`,
    String.raw`chatgpt.com ^\/backend-api\/sentinel\/.+$`,
    String.raw`chatgpt.com ^\/ces\/.+$`,
    String.raw`copilot ^\/mcp(\/.+)?$`,
    // The path starts with the model, whose name may have several segments.
    String.raw`fal-queue ^\/.+\/requests\/[^/]+\/cancel$`,
    String.raw`openai ^\/organization\/.+$`,
    String.raw`openai ^\/projects\/.+$`,
  ];

  it("are exact where something is sent: only accounts and telemetry are free with all that is below", () => {
    const open = rules
      .filter(
        ([, { methods, metered }]) =>
          metered === null && methods.some((name) => name !== "GET" && name !== "DELETE"),
      )
      .filter(([, { path }]) => /\.[+*]/.test(path.source))
      .map(([owner, { path }]) => `${owner} ${path.source}`);
    assert.deepEqual([...new Set(open)].sort(), OPEN_TO_WRITES);
  });

  it("name their resource: no rule is free for everything", () => {
    const invented = ["/zz", "/zz/zz", "/v1/zz", "/v1/zz/zz", "/api/zz", "/zz:zz", ":zz", "/api/v1/zz"];
    for (const [owner, { methods, path, metered }] of rules) {
      if (metered !== null) continue;
      const isWebsite = WEBSITES.includes(owner) && methods.length === 1 && methods[0] === "GET";
      for (const candidate of invented) {
        if (isWebsite && !candidate.startsWith("/api/")) continue;
        assert.ok(!path.test(candidate), `${owner}: ${path} matches ${candidate}`);
      }
    }
  });

  it("do not include further methods: an unknown path is unknown for every provider and method", () => {
    for (const { hosts, port } of PROVIDERS)
      for (const method of ["POST", "PUT", "PATCH", "DELETE"])
        for (const path of ["/v1/zz", "/api/zz", "/zz/zz"]) {
          const host = (hosts[0] as string).replace("*.", "a.");
          // On fal, any path of two segments is a model.
          if (host.endsWith("fal.run") && method === "POST") continue;
          const { kind } = registry.match({ host, port, method, path });
          const expected = registry.isSharedHost(host, port) ? "not_provider" : "unknown_path";
          assert.equal(kind, expected, `${method} ${host}${path}`);
        }
  });
});
