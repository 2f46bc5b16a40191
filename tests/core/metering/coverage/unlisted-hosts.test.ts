import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parse } from "smol-toml";
import { isAiHost } from "../../../../core/metering/coverage/ai-hosts.ts";
import type { CoverageKind, CoverageTotal } from "../../../../core/metering/coverage/coverage-kinds.ts";
import { summariseCoverage } from "../../../../core/metering/coverage/coverage-summary.ts";
import {
  addProviderCommand,
  describeAddedHost,
  describeUnlistedHost,
  listUnlistedHosts,
  providerLines,
  providerNameOf,
  recogniseApi,
  splitAddedHosts,
  unlistedAddress,
  unlistedKind,
} from "../../../../core/metering/coverage/unlisted-hosts.ts";
import { createRegistry } from "../../../../core/metering/usage/registry.ts";
import { resolveConfig } from "../../../../core/operations/config/resolve-config.ts";

const recognised: Record<string, string | null> = {
  "/v1/chat/completions": "openai",
  "/team/x/chat/completions?api-version=1": "openai",
  "/openai/deployments/d/chat/completions": "openai",
  "/v1/responses/": "openai",
  "/api/v3/embeddings": "openai",
  "/openai/responses": "openai",
  "/v1/images/generations": "openai",
  "/v1/audio/transcriptions": "openai",
  "/v1/messages": "anthropic",
  "/anthropic/v1/messages?beta=true": "anthropic",
  "/v1beta/models/gemini-x:streamGenerateContent?alt=sse": "gemini",
  "/v1/models/e:embedContent": "gemini",
  "/responses": null,
  "/rooms/1/messages": null,
  "/v1/models": null,
  "/survey/responses": null,
  "/chat/completions/1": null,
};

describe("recogniseApi()", () => {
  for (const [path, api] of Object.entries(recognised))
    it(`finds ${api ?? "no API"} in ${path}`, () => assert.equal(recogniseApi("POST", path), api));

  it("ignores requests other than POST", () => {
    assert.equal(recogniseApi("GET", "/v1/responses"), null);
  });

  it("finds only what the lines to paste will meter", () => {
    for (const [path, api] of Object.entries(recognised)) {
      if (api === null) continue;
      const lines = providerLines({ host: "gate.test", port: null, apis: [api as "openai"] }).join("\n");
      const { config, warnings } = resolveConfig(parse(lines), { today: "2026-11-23" });
      assert.deepEqual(warnings, []);
      const registry = createRegistry(config.providers);
      const match = registry.match({ host: "gate.test", port: 8000, method: "POST", path });
      assert.equal(match.kind, "metered", path);
    }
  });
});

describe("listUnlistedHosts()", () => {
  const total = (host: string | null, kind: CoverageKind, count: number): CoverageTotal => ({
    host,
    kind,
    count,
  });
  const coverage = [
    total("api.openai.com", "metered", 3),
    total("llm.corp.test", "unlisted_tunnel", 2),
    total("gpu-box:8001", "unlisted_openai", 5),
    total("gpu-box:8001", "unlisted_anthropic", 1),
    total("[fd00::1]:8001", "unlisted_gemini", 1),
    total(null, "unlisted_openai", 9),
  ];

  it("joins the kinds of a host, the most used first", () => {
    assert.deepEqual(listUnlistedHosts(coverage), [
      { host: "gpu-box", port: 8001, apis: ["openai", "anthropic"], count: 6 },
      { host: "llm.corp.test", port: null, apis: [], count: 2 },
      { host: "fd00::1", port: 8001, apis: ["gemini"], count: 1 },
    ]);
  });

  it("is part of the summary, and lowers no share", () => {
    const { permille, seen, unlisted } = summariseCoverage(coverage);
    assert.deepEqual([permille, seen, unlisted.length], [1000, 3, 3]);
  });

  it("is described with a command and with lines of TOML", () => {
    const [gpu, corp] = listUnlistedHosts(coverage);
    assert.equal(
      describeUnlistedHost(gpu!),
      "Not metered: 6 calls to gpu-box (port 8001), which answers like OpenAI's and Anthropic's APIs.",
    );
    assert.equal(
      addProviderCommand(gpu!),
      "meter provider add gpu-box --port 8001 --api openai --api anthropic",
    );
    const three = { ...gpu!, apis: ["anthropic", "gemini", "openai"] } as const;
    assert.match(describeUnlistedHost(three), /like Anthropic's, Gemini's and OpenAI's APIs\.$/);
    assert.equal(describeUnlistedHost(corp!), "Not metered: 2 connections to llm.corp.test, an AI service.");
    assert.deepEqual(JSON.parse(JSON.stringify(parse(providerLines(gpu!).join("\n")))), {
      providers: [{ host: "gpu-box", port: 8001, provider: "gpu-box", api: ["openai", "anthropic"] }],
    });
  });
});

describe("splitAddedHosts()", () => {
  const host = { host: "a.test", port: null, apis: ["openai"], count: 1 } as const;

  it("treats a host without a port as known on the port of either scheme", () => {
    for (const port of [443, 80]) {
      const { unlisted, added } = splitAddedHosts([host], (name, at) => name === "a.test" && at === port);
      assert.deepEqual([unlisted, added], [[], [host]]);
    }
    assert.deepEqual(
      splitAddedHosts([host], () => false),
      { unlisted: [host], added: [] },
    );
    const other = { ...host, port: 8001 };
    assert.deepEqual(
      splitAddedHosts([host, other], (_, port) => port === 8001),
      { unlisted: [host], added: [other] },
    );
  });

  it("is described with its earlier calls", () => {
    assert.equal(
      describeAddedHost(host),
      "Not metered: 1 call to a.test before the host was added. A daemon started since then meters it.",
    );
    assert.match(
      describeAddedHost({ ...host, apis: [], count: 2, port: 8001 }),
      /2 connections to a\.test \(port 8001\) before/,
    );
  });
});

describe("unlistedAddress() and unlistedKind()", () => {
  it("write what listUnlistedHosts() reads", () => {
    for (const [host, port, expected] of [
      ["gate.test", 80, null],
      ["gate.test", 8001, 8001],
      ["fd00::1", 80, null],
      ["fd00::1", 8001, 8001],
    ] as const) {
      const address = unlistedAddress(host, port, 80);
      const [read] = listUnlistedHosts([{ host: address, kind: unlistedKind("gemini"), count: 1 }]);
      assert.deepEqual(read, { host, port: expected, apis: ["gemini"], count: 1 });
      const name = host.includes(":") ? "[fd00::1]" : host;
      const option = expected === null ? "" : " --port 8001";
      assert.equal(addProviderCommand(read!), `meter provider add ${name}${option} --api gemini`);
    }
  });

  it("are sorted by name where the counts are equal, and described in the singular", () => {
    const found = listUnlistedHosts([
      { host: "b.test", kind: "unlisted_openai", count: 1 },
      { host: "b.test", kind: "unlisted_tunnel", count: 0 },
      { host: "a.test", kind: "unlisted_tunnel", count: 1 },
      { host: "no:host:at:all", kind: "unlisted_tunnel", count: 1 },
    ]);
    assert.deepEqual(
      found.map(({ host }) => host),
      ["a.test", "b.test", "no:host:at:all"],
    );
    assert.equal(describeUnlistedHost(found[0]!), "Not metered: 1 connection to a.test, an AI service.");
    assert.match(describeUnlistedHost(found[1]!), /^Not metered: 1 call to b\.test, /);
    assert.equal(addProviderCommand(found[0]!), "meter provider add a.test --api openai");
    assert.equal(providerLines(found[0]!).at(-1), 'api = "openai"');
  });
});

describe("providerNameOf()", () => {
  for (const [host, name] of Object.entries({
    "llm.corp.test": "llm-corp-test",
    "*.Models.corp.test": "models-corp-test",
    "10.0.0.7": "10-0-0-7",
    "::": "own",
  }))
    it(`names ${host} ${name}`, () => assert.equal(providerNameOf(host), name));
});

describe("isAiHost()", () => {
  it("knows services by name, suffix and the names of gateways", () => {
    for (const host of ["API.poe.com", "api2.cursor.sh.", "litellm.corp.test", "llm-gateway.internal"])
      assert.ok(isAiHost(host), host);
    for (const host of [
      "llm",
      "example.com",
      "cursor.sh",
      "openai.com",
      "www.llm.test",
      "poe.com",
      "vllm.ai",
    ])
      assert.ok(!isAiHost(host), host);
  });

  it("lists no host that is metered", () => {
    const registry = createRegistry();
    // By their first labels alone, some would be taken for a company's gateway.
    const hosts = registry.hosts.filter((host) => !/^(llm|ai-gateway|llm-gateway)\./.test(host));
    for (const host of hosts) assert.ok(!isAiHost(host.replace("*.", "a.")), host);
  });
});
