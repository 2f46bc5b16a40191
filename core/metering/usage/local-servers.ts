import type { BillingMode } from "../../values/record.ts";
import {
  ANTHROPIC_ANYWHERE,
  anthropic,
  GEMINI_ANYWHERE,
  OPENAI_ANYWHERE,
  openai,
  type Provider,
} from "./provider.ts";

/** The names by which programs call a server on their own machine. */
const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "::1", "host.docker.internal"];

/** A server of models on its usual port, which other programs use too. */
const local = (
  provider: string,
  port: number,
  apis: Provider["apis"],
  billing: BillingMode = "free",
): Provider => ({
  provider,
  hosts: LOCAL_HOSTS,
  port,
  scheme: "http",
  apis,
  shared: true,
  gatewayPrefix: provider,
  billing,
});

/** The base of paths that nothing precedes. */
const FROM_ROOT = /^(?=\/)/;

const COMPATIBLE = [anthropic(ANTHROPIC_ANYWHERE), openai(OPENAI_ANYWHERE)];

/**
 * Servers of models on this machine. They cost nothing, except LiteLLM, which is a gateway. A call through it and its
 * own call to a provider may both be seen, so what it costs is not added to what was spent.
 *
 * LM Studio and llama.cpp have native APIs beside the compatible ones.
 *
 * Sources, read 2026-11-23: lmstudio.ai/docs/developer; docs.vllm.ai, "OpenAI-Compatible Server"; ggml-org/llama.cpp,
 * tools/server; docs.litellm.ai, "LiteLLM Proxy".
 */
export const LOCAL_SERVERS: readonly Provider[] = [
  local("lmstudio", 1234, [["lmstudio", FROM_ROOT], ...COMPATIBLE]),
  local("vllm", 8000, COMPATIBLE),
  local("llama-cpp", 8080, [["llama-cpp", FROM_ROOT], ...COMPATIBLE]),
  local("litellm", 4000, [...COMPATIBLE, ["gemini", GEMINI_ANYWHERE]], "unknown"),
];
