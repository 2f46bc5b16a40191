import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { NO_TOKENS } from "../../core/metering/usage/token-counts.ts";
import type { TokenCounts } from "../../core/values/record.ts";
import {
  createParentProxy,
  createProjectFolder,
  createProviderSimulation,
  type DrivenClient,
  driveSdks,
  type ParentProxy,
  type ProviderSimulation,
  type SimulatedCall,
} from "./mod.ts";

// Processes of this runtime start with Node's own proxy variables, which Deno and Bun do not have.
const onNode = !("Deno" in globalThis) && !("Bun" in globalThis);

describe("driveSdks()", { skip: onNode ? false : "the clients rely on NODE_USE_ENV_PROXY" }, () => {
  let simulation: ProviderSimulation;
  let parent: ParentProxy;
  let folder: string;
  let driven: DrivenClient[];

  before(async () => {
    simulation = await createProviderSimulation();
    parent = await createParentProxy(simulation);
    folder = mkdtempSync(join(tmpdir(), "driven-"));
    driven = await driveSdks({
      clients: ["anthropic", "openai", "google", "compatible"],
      cwd: createProjectFolder(folder, "apollo"),
      proxyUrl: parent.url,
      caFile: simulation.caFile,
    });
    driven.push(...(await driveSdks({ clients: ["ollama"], cwd: folder, ollamaUrl: simulation.ollamaUrl })));
    await simulation.idle();
  });
  after(async () => {
    await parent.close();
    await simulation.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("reaches each provider through the environment's proxy only", () => {
    assert.deepEqual([...new Set(parent.asked)].sort(), [
      "CONNECT api.anthropic.com:443",
      "CONNECT api.openai.com:443",
      "CONNECT api.x.ai:443",
      "CONNECT generativelanguage.googleapis.com:443",
      "CONNECT openrouter.ai:443",
    ]);
  });

  it("makes exactly the requests that each call states", () => {
    const calls = driven.flatMap(({ calls }) => calls);
    const asked = simulation.calls.length + simulation.otherRequests.length;
    assert.equal(
      asked,
      calls.reduce((sum, call) => sum + call.requests, 0),
    );
  });

  it("gets errors only for scenarios that fail", () => {
    const failed = driven.flatMap(({ client, calls }) =>
      calls
        .filter(({ ok }) => !ok)
        .map(({ name, error }) => `${client} ${name}: ${error?.status ?? error?.name}`),
    );
    assert.deepEqual(failed, [
      "anthropic 429: 429",
      "anthropic 529: 529",
      "anthropic error in the stream: APIError",
      "anthropic stream cut in the middle: AnthropicError",
      "openai 429, quota used up: 429",
      "openai 500: 500",
      "openai stream that ends too early: TypeError",
      "google 429: 429",
      "google 503: 503",
      "google stream cut in the middle: TypeError",
      "compatible OpenRouter, 503: 503",
      "ollama 404: 404",
    ]);
  });

  it("reports the usage of the simulated calls through the SDKs", () => {
    const byId = new Map(simulation.calls.map((entry) => [entry.responseId, entry]));
    let compared = 0;
    for (const { calls } of driven) {
      for (const call of calls) {
        if (call.responseId === null || call.usage === null) continue;
        const entry = byId.get(call.responseId);
        assert.ok(entry, `no entry for ${call.name}`);
        assert.deepEqual(readSdkUsage(entry, call.usage as Usage), entry.tokens, call.name);
        compared += 1;
      }
    }
    assert.ok(compared >= 20, `only ${compared} compared`);
  });

  it("states a provider's cost as the SDK shows it", () => {
    for (const call of driven.find(({ client }) => client === "compatible")!.calls) {
      const entry = simulation.calls.find(({ responseId }) => responseId === call.responseId);
      if (!call.ok || entry === undefined) continue;
      const usage = call.usage as { cost?: number; cost_in_usd_ticks?: number };
      const pico =
        usage.cost === undefined ? Number(usage.cost_in_usd_ticks) * 100 : Math.round(usage.cost * 1e12);
      assert.equal(Number(entry.providerCostPicoUsd), pico, call.name);
    }
  });
});

type Usage = Readonly<Record<string, number | undefined>> & {
  prompt_tokens_details?: Record<string, number>;
  completion_tokens_details?: Record<string, number>;
  input_tokens_details?: Record<string, number>;
  output_tokens_details?: Record<string, number> | null;
  cache_creation?: Record<string, number>;
};

/** The disjoint counts as a careful user of the SDK would compute them. */
function readSdkUsage(entry: SimulatedCall, usage: Usage): TokenCounts {
  switch (entry.api) {
    case "anthropic.messages": {
      const thinking = usage.output_tokens_details?.thinking_tokens ?? null;
      return {
        promptTokens: usage.input_tokens!,
        cacheReadTokens: usage.cache_read_input_tokens!,
        cacheWriteTokens: usage.cache_creation_input_tokens!,
        cacheWrite1hTokens: usage.cache_creation!.ephemeral_1h_input_tokens!,
        completionTokens: usage.output_tokens! - (thinking ?? 0),
        thinkingTokens: thinking,
      };
    }
    case "openai.chat": {
      const cached = usage.prompt_tokens_details!.cached_tokens!;
      const thinking = usage.completion_tokens_details!.reasoning_tokens!;
      return {
        ...NO_TOKENS,
        promptTokens: usage.prompt_tokens! - cached,
        cacheReadTokens: cached,
        completionTokens: usage.completion_tokens! - (entry.provider === "xai" ? 0 : thinking),
        thinkingTokens: thinking,
      };
    }
    case "openai.responses": {
      const cached = usage.input_tokens_details!.cached_tokens!;
      const written = usage.input_tokens_details!.cache_write_tokens!;
      const thinking = usage.output_tokens_details!.reasoning_tokens!;
      return {
        ...NO_TOKENS,
        promptTokens: usage.input_tokens! - cached - written,
        cacheReadTokens: cached,
        cacheWriteTokens: written,
        completionTokens: usage.output_tokens! - thinking,
        thinkingTokens: thinking,
      };
    }
    case "gemini.generate": {
      const cached = usage.cachedContentTokenCount ?? 0;
      return {
        ...NO_TOKENS,
        promptTokens: usage.promptTokenCount! - cached + (usage.toolUsePromptTokenCount ?? 0),
        cacheReadTokens: cached,
        completionTokens: usage.candidatesTokenCount!,
        thinkingTokens: usage.thoughtsTokenCount ?? 0,
      };
    }
    default:
      throw new Error(`no SDK names its answer by an id here: ${entry.api}`);
  }
}
