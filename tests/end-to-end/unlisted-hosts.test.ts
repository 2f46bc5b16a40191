import assert from "node:assert/strict";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { after, before, describe, it } from "node:test";
import {
  createParentProxy,
  createProviderSimulation,
  type ParentProxy,
  type ProviderSimulation,
} from "../simulation/mod.ts";
import {
  createHome,
  onNodeOnly,
  removeHome,
  runMeter,
  runProgram,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  startMeter,
  waitFor,
} from "./meter-process.rig.ts";

const HOST = "llm.corp.test";
const ANSWER = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  model: "gpt-4o-mini",
  choices: [{ index: 0, message: { role: "assistant", content: "Water." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
});

describe("hosts that the meter does not know", { timeout: SUITE_TIMEOUT_MS, skip: onNodeOnly }, () => {
  // A company's gateway that answers like OpenAI's API, and an AI service behind a tunnel that is not read.
  const gateway = createHttpServer((request, response) => {
    request.resume().on("end", () => response.setHeader("content-type", "application/json").end(ANSWER));
  });
  const service = createServer((socket) => socket.on("error", () => {}).end("not TLS"));
  let simulation: ProviderSimulation;
  let parent: ParentProxy;
  const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;

  before(async () => {
    for (const server of [gateway, service])
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    simulation = await createProviderSimulation();
    parent = await createParentProxy(simulation, {
      others: { [`${HOST}:8001`]: portOf(gateway), "nano-gpt.com:443": portOf(service) },
    });
  });
  after(async () => {
    await parent?.close();
    await simulation?.close();
    gateway.closeAllConnections();
    for (const server of [gateway, service]) server.close();
  });

  const url = `http://${HOST}:8001/v1/chat/completions`;
  const call = (port: number, target: string) =>
    runProgram(
      ["curl", "-sS", "-x", `http://127.0.0.1:${port}`, "-H", "content-type: application/json"].concat(
        ...[["-d", '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Why?"}]}', target]],
      ),
    );

  it("are named with the lines to paste, metered once they are added, and no longer asked for", async () => {
    const home = createHome(simulationConfig(parent, simulation));
    try {
      const first = await startMeter(home);
      assert.equal((await call(first.proxyPort, url)).stdout, ANSWER);
      await call(first.proxyPort, "https://nano-gpt.com/api/v1/chat/completions");
      const named = await waitFor("both hosts in the coverage", async () => {
        const { stdout } = await runMeter(home, ["coverage"]);
        return stdout.includes(HOST) && stdout.includes("nano-gpt.com") ? stdout : null;
      });
      assert.match(
        named,
        /1 call to llm\.corp\.test \(port 8001\), which answers like OpenAI's API\. Meter it:/,
      );
      assert.match(named, /\[\[providers\]\]\n {2}host = "llm\.corp\.test"\n {2}port = 8001\n/);
      assert.match(named, /1 connection to nano-gpt\.com, an AI service\. Meter it:/);
      await first.stop();
      assert.deepEqual(await first.rows(), []);

      const command = /^ {2}meter (provider add llm\.corp\.test .*)$/m.exec(named)?.[1] ?? "";
      assert.equal((await runMeter(home, command.split(" "))).code, 0);
      const second = await startMeter(home);
      await call(second.proxyPort, url);
      const [row] = await second.waitForRows(1);
      assert.deepEqual([row?.host, row?.tokens.promptTokens, row?.tokens.completionTokens], [HOST, 12, 5]);
      const { stdout } = await runMeter(home, ["coverage"]);
      assert.match(stdout, /1 call to llm\.corp\.test \(port 8001\) before the host was added\./);
      assert.doesNotMatch(stdout, /provider add llm/);
      await second.stop();
    } finally {
      removeHome(home);
    }
  });
});
