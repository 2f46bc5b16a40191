// A program without any knowledge of the meter: it uses Google's SDK like any other. The prompts choose what the simulated
// provider does. `GOOGLE_GEMINI_BASE_URL` is a variable of the SDK, and the proxy variables are Node's.
import { type GenerateContentResponse, GoogleGenAI } from "@google/genai";
import { createCallLog, type Seen } from "./call-log.ts";

const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY ?? "simulated" });
const log = createCallLog();

function seen(answer: GenerateContentResponse | null): Seen {
  return { responseId: answer?.responseId, usage: answer?.usageMetadata };
}

async function ask(prompt: string, model = "gemini-2.5-flash"): Promise<Seen> {
  return seen(await client.models.generateContent({ model, contents: prompt }));
}

async function stream(prompt: string, model = "gemini-2.5-flash"): Promise<Seen> {
  let last: GenerateContentResponse | null = null;
  for await (const piece of await client.models.generateContentStream({ model, contents: prompt }))
    last = piece;
  return seen(last);
}

await log.run("one answer", () => ask("Why is the sky blue?"));
await log.run("thoughts and cached content", () =>
  ask("Think. scenario: thinking+cached+gzip", "gemini-2.5-pro"),
);
await log.run("a tool call", () => ask("What is the weather in Zürich? scenario: tools+search"));
await log.run("stream, thoughts and cached content", () =>
  stream("Think aloud. scenario: thinking+cached+shredded", "gemini-2.5-pro"),
);
await log.run("stream, a tool call", () => stream("And in Bern? scenario: tools"));
await log.run("a prompt above the context tier", () =>
  ask("Read all of this. scenario: long", "gemini-2.5-pro"),
);
await log.run("embeddings", async () => {
  const answer = await client.models.embedContent({
    model: "gemini-embedding-001",
    contents: ["sky", "blue"],
  });
  return { usage: answer.usageMetadata };
});
await log.run("429", () => ask("Hurry. scenario: rate-limit"));
await log.run("503", () => ask("Hurry. scenario: overloaded"));
await log.run("stream cut in the middle", () => stream("Go on and on. scenario: cut"));

log.print();
