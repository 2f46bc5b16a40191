// A program without any knowledge of the meter: it uses Anthropic's SDK like any other. The prompts choose what the
// simulated provider does. `ANTHROPIC_BASE_URL` is a variable of the SDK, and the proxy variables are Node's.
import Anthropic from "@anthropic-ai/sdk";
import { createCallLog } from "./call-log.ts";

const client = new Anthropic({ apiKey: process.env.ANTHROPIC_API_KEY ?? "sk-ant-simulated", maxRetries: 0 });
const log = createCallLog();

const tools: Anthropic.Tool[] = [
  {
    name: "get_weather",
    description: "The weather in a city",
    input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
];

function ask(prompt: string, model = "claude-sonnet-4-5"): Anthropic.MessageCreateParamsNonStreaming {
  return { model, max_tokens: 1_024, messages: [{ role: "user", content: prompt }] };
}

function seen(message: Anthropic.Message) {
  return { responseId: message.id, usage: message.usage };
}

await log.run("one answer", async () =>
  seen(
    await client.messages.create(
      ask(`Why is the sky blue? Write to ann@example.com, with the key sk-ant-api03-${"a1B2".repeat(24)}.`),
    ),
  ),
);

await log.run("one answer, compressed", async () =>
  seen(await client.messages.create(ask("Summarise this. scenario: gzip", "claude-haiku-4-5"))),
);

await log.run("a tool call", async () =>
  seen(await client.messages.create({ ...ask("What is the weather in Zürich? scenario: tools"), tools })),
);

await log.run("stream, thinking, cached prompt", async () =>
  seen(
    await client.messages
      .stream(ask("Think, then answer. scenario: thinking+cached", "claude-opus-4-5"))
      .finalMessage(),
  ),
);

await log.run("stream, one-hour cache", async () =>
  seen(await client.messages.stream(ask("Again. scenario: cached+cached-1h+shredded")).finalMessage()),
);

await log.run("stream, a tool call", async () =>
  seen(await client.messages.stream({ ...ask("And in Bern? scenario: tools"), tools }).finalMessage()),
);

await log.run("stream, web searches", async () =>
  seen(
    await client.messages.stream(ask("What does a token cost? scenario: search+cached+br")).finalMessage(),
  ),
);

await log.run("a prompt above the context tier", async () =>
  seen(await client.messages.create(ask("Read all of this. scenario: long"))),
);

await log.run("labelled by a header", async () =>
  seen(
    await client.messages.create(ask("For whom is this?"), {
      headers: { "X-Meter-Project": "Side Project" },
    }),
  ),
);

await log.run("free count", async () => {
  const count = await client.messages.countTokens({
    model: "claude-sonnet-4-5",
    messages: [{ role: "user", content: "How long is this?" }],
  });
  return { usage: count };
});

await log.run("429", async () => seen(await client.messages.create(ask("Hurry. scenario: rate-limit"))));

await log.run("529", async () => seen(await client.messages.create(ask("Hurry. scenario: overloaded"))));

await log.run("error in the stream", async () =>
  seen(await client.messages.stream(ask("Go on. scenario: error-in-stream")).finalMessage()),
);

await log.run("stream cut in the middle", async () =>
  seen(await client.messages.stream(ask("Go on and on. scenario: thinking+cut")).finalMessage()),
);

log.print();
