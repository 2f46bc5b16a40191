/**
 * Meters calls in the program that makes them, without a proxy: `npx node examples/fetch-wrapper/main.ts`. A local server
 * acts as the provider, so that no key is needed. Without `hosts` and its address, it meters real calls.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { formatUsd } from "../../core/pricing/mod.ts";
import { createMeteredFetch } from "./metered-fetch.ts";

const usage = {
  prompt_tokens: 1_200,
  completion_tokens: 300,
  prompt_tokens_details: { cached_tokens: 1_000 },
};
const chunks = [
  'data: {"model":"gpt-4o-mini","choices":[{"delta":{"content":"Hel"}}]}\n\n',
  'data: {"model":"gpt-4o-mini","choices":[{"delta":{"content":"lo"}}]}\n\n',
  `data: {"model":"gpt-4o-mini","choices":[],"usage":${JSON.stringify(usage)}}\n\n`,
  "data: [DONE]\n\n",
];

/** Responds like a chat API, with JSON or a stream. */
function startProvider(): Promise<Server> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    if (body.includes('"stream":true')) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const chunk of chunks) response.write(chunk);
      response.end();
    } else {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ model: "gpt-4o-mini", choices: [{ message: { content: "Hello" } }], usage }),
      );
    }
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const provider = await startProvider();
const { port } = provider.address() as AddressInfo;
const meteredFetch = createMeteredFetch({
  fetch,
  hosts: [{ host: "127.0.0.1", port, provider: "openai", api: "openai" }],
  onCall({ model, usage, price }) {
    const { promptTokens, cacheReadTokens, completionTokens } = usage.tokens;
    const cost = price.costPicoUsd === null ? "unpriced" : formatUsd(price.costPicoUsd);
    console.log(
      `${model}: ${promptTokens} fresh, ${cacheReadTokens} cached, ${completionTokens} out: ${cost}`,
    );
  },
});

for (const stream of [false, true]) {
  const response = await meteredFetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-4o-mini", stream, messages: [{ role: "user", content: "Hi" }] }),
  });
  await response.text();
}
provider.closeAllConnections();
provider.close();
