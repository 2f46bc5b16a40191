// A program without any knowledge of the meter: it uses OpenAI's SDK like any other. The prompts choose what the simulated
// provider does. `OPENAI_BASE_URL` is a variable of the SDK, and the proxy variables are Node's.
import OpenAI from "openai";
import type { ChatCompletionChunk } from "openai/resources/chat/completions";
import type { Response } from "openai/resources/responses/responses";
import { createCallLog, type Seen } from "./call-log.ts";

const client = new OpenAI({ apiKey: process.env.OPENAI_API_KEY ?? "sk-simulated", maxRetries: 0 });
const log = createCallLog();

function ask(prompt: string, model = "gpt-5") {
  return { model, messages: [{ role: "user" as const, content: prompt }] };
}

/** Reads a stream to its end. The usage, if any, is in the last chunk. */
async function drain(stream: AsyncIterable<ChatCompletionChunk>): Promise<Seen> {
  let last: ChatCompletionChunk | null = null;
  for await (const chunk of stream) last = chunk;
  return { responseId: last?.id, usage: last?.usage };
}

async function drainResponse(prompt: string): Promise<Seen> {
  const stream = await client.responses.create({ model: "gpt-5", input: prompt, stream: true });
  let last: Response | null = null;
  for await (const event of stream) if ("response" in event) last = event.response;
  return { responseId: last?.id, usage: last?.usage };
}

await log.run("chat", async () => {
  const answer = await client.chat.completions.create(ask("Why is the sky blue? scenario: thinking+cached"));
  return { responseId: answer.id, usage: answer.usage };
});

await log.run("chat, a tool call, compressed", async () => {
  const answer = await client.chat.completions.create({
    ...ask("What is the weather in Zürich? scenario: tools+gzip+chunked", "gpt-4o"),
    tools: [{ type: "function", function: { name: "get_weather", parameters: { type: "object" } } }],
  });
  return { responseId: answer.id, usage: answer.usage };
});

await log.run("chat stream with usage", async () =>
  drain(
    await client.chat.completions.create({
      ...ask("Think and count. scenario: thinking+cached+shredded"),
      stream: true,
      stream_options: { include_usage: true },
    }),
  ),
);

await log.run("chat stream without usage", async () =>
  drain(await client.chat.completions.create({ ...ask("Count in secret."), stream: true })),
);

await log.run("responses", async () => {
  const answer = await client.responses.create({
    model: "gpt-5",
    instructions: "Be brief.",
    input: "Why is the sky blue? scenario: thinking+cached",
  });
  return { responseId: answer.id, usage: answer.usage };
});

await log.run("responses stream", () => drainResponse("Think aloud. scenario: thinking+cached"));

await log.run("responses stream that ran into its limit", () => drainResponse("Talk. scenario: incomplete"));

await log.run("embeddings", async () => {
  const answer = await client.embeddings.create({ model: "text-embedding-3-small", input: ["sky", "blue"] });
  return { usage: answer.usage };
});

await log.run("429, quota used up", async () => {
  await client.chat.completions.create(ask("Hurry. scenario: quota"));
  return {};
});

await log.run("500", async () => {
  await client.responses.create({ model: "gpt-5", input: "Hurry. scenario: server-error" });
  return {};
});

await log.run(
  "429, then the SDK tries again",
  async () => {
    const answer = await client.chat.completions.create(
      ask("Insist. scenario: rate-limit+once", "gpt-5-mini"),
      {
        maxRetries: 1,
      },
    );
    return { responseId: answer.id, usage: answer.usage };
  },
  2,
);

await log.run("stream that ends too early", async () =>
  drain(
    await client.chat.completions.create({
      ...ask("Go on and on. scenario: early-fin"),
      stream: true,
      stream_options: { include_usage: true },
    }),
  ),
);

log.print();
