// A program without any knowledge of the meter: it calls OpenAI-compatible providers with OpenAI's SDK. The proxy variables
// are Node's; the two base URLs are this program's.
import OpenAI from "openai";
import { createCallLog } from "./call-log.ts";

const apiKey = "simulated";
const xai = new OpenAI({
  apiKey,
  maxRetries: 0,
  baseURL: process.env.XAI_BASE_URL ?? "https://api.x.ai/v1",
});
const openRouter = new OpenAI({
  apiKey,
  maxRetries: 0,
  baseURL: process.env.OPENROUTER_BASE_URL ?? "https://openrouter.ai/api/v1",
});
const log = createCallLog();

async function ask(client: OpenAI, model: string, prompt: string) {
  const answer = await client.chat.completions.create({
    model,
    messages: [{ role: "user", content: prompt }],
  });
  return { responseId: answer.id, usage: answer.usage };
}

async function stream(client: OpenAI, model: string, prompt: string) {
  const chunks = await client.chat.completions.create({
    model,
    messages: [{ role: "user", content: prompt }],
    stream: true,
  });
  let last: OpenAI.ChatCompletionChunk | null = null;
  for await (const chunk of chunks) last = chunk;
  return { responseId: last?.id, usage: last?.usage };
}

const grok = "grok-4-fast-reasoning";
const sonnet = "anthropic/claude-sonnet-4.5";
await log.run("xAI, reasoning", () => ask(xai, grok, "Think. scenario: thinking+cached"));
await log.run("xAI, stream", () => stream(xai, grok, "Think aloud. scenario: thinking"));
await log.run("OpenRouter", () => ask(openRouter, sonnet, "Why is the sky blue? scenario: cached"));
await log.run("OpenRouter, stream", () => stream(openRouter, sonnet, "Tell. scenario: thinking+br"));
await log.run("OpenRouter, 503", () => ask(openRouter, sonnet, "Hurry. scenario: overloaded"));

log.print();
