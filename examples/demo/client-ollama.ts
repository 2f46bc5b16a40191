// A program without any knowledge of the meter: it calls Ollama with fetch, as Ollama's documentation shows.
import { createCallLog } from "./call-log.ts";

const baseUrl = process.env.OLLAMA_HOST ?? "http://127.0.0.1:11434";
const log = createCallLog();

async function chat(prompt: string, stream: boolean) {
  const answer = await fetch(`${baseUrl}/api/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "llama3.2", messages: [{ role: "user", content: prompt }], stream }),
  });
  const lines = (await answer.text()).trim().split("\n");
  if (!answer.ok) throw Object.assign(new Error(lines[0]), { status: answer.status });
  const { prompt_eval_count, eval_count } = JSON.parse(lines.at(-1)!) as Record<string, unknown>;
  return { usage: { prompt_eval_count, eval_count } };
}

await log.run("one answer", () => chat("Why is the sky blue?", false));
await log.run("stream", () => chat("Tell me more. scenario: cached", true));
await log.run("404", () => chat("Hurry. scenario: not-found", false));

log.print();
