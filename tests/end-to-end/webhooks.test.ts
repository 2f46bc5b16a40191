import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { onNodeOnly, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

describe("webhooks and telemetry of a running daemon", {
  timeout: SUITE_TIMEOUT_MS,
  skip: onNodeOnly,
}, () => {
  const received: { type: string; ids: string[] }[] = [];
  let isUp = true;
  const receiver = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { type, data } = JSON.parse(body) as { type: string; data: { records: { request_id: string }[] } };
    if (isUp) received.push({ type, ids: data.records.map(({ request_id }) => request_id) });
    response.writeHead(isUp ? 204 : 503).end();
  });

  type Attributes = readonly { key: string; value: Readonly<Record<string, unknown>> }[];
  type Span = { traceId: string; name: string; attributes: Attributes };
  const spans: Span[] = [];
  const collected: { path: string; key: unknown; body: string; json: Record<string, never> }[] = [];
  const collector = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    if (isUp) {
      const json = JSON.parse(body);
      collected.push({ path: request.url ?? "", key: request.headers["x-key"], body, json });
      for (const { scopeSpans } of json.resourceSpans ?? [])
        for (const scope of scopeSpans) spans.push(...scope.spans);
    }
    response.writeHead(isUp ? 200 : 503, { "content-type": "application/json" }).end("{}");
  });

  before(async () => {
    for (const server of [receiver, collector]) {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
    }
  });
  after(() => {
    receiver.close();
    collector.close();
  });
  const rig = useSimulatedMeter("webhooks", () => [
    "[[webhooks]]",
    `url = "http://127.0.0.1:${(receiver.address() as AddressInfo).port}/x"`,
    'events = ["record.stored"]',
    `secret = "whsec_${Buffer.alloc(32, 1).toString("base64")}"`,
    "[telemetry.export]",
    `endpoint = "http://127.0.0.1:${(collector.address() as AddressInfo).port}"`,
    'headers = { x-key = "collector-secret" }',
  ]);

  const call = async () => {
    const base = `http://127.0.0.1:${rig.meter.proxyPort}/anthropic`;
    const body = JSON.stringify({
      model: "claude-haiku-4-5",
      max_tokens: 9,
      messages: [{ role: "user", content: "x" }],
    });
    const answer = await fetch(`${base}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    assert.equal(answer.status, 200);
    await answer.text();
  };
  const storedIds = async () => (await rig.meter.rows()).map(({ requestId }) => requestId).sort();
  const deliveredIds = () => received.flatMap(({ ids }) => ids).sort();

  it("gets each record once, also those that were stored while it was down", async () => {
    await call();
    await waitFor("the first delivery", () => received.length > 0);
    isUp = false;
    await call();
    const failing = await waitFor("the warning in meter status", async () => {
      const { stdout } = await rig.meter.run(["status"]);
      return /The webhook at 127\.0\.0\.1:\d+ failed \(/.exec(stdout);
    });
    assert.ok(failing);
    await call();
    isUp = true;
    await waitFor("the other deliveries", async () => deliveredIds().length >= (await storedIds()).length);
    assert.deepEqual(deliveredIds(), await storedIds());
    assert.ok(received.every(({ type }) => type === "record.stored"));
  });

  it("exports each call once by OTLP, and shows no header", async () => {
    await waitFor("the export", async () => spans.length >= (await storedIds()).length);
    assert.deepEqual(
      spans.map(({ traceId }) => traceId).sort(),
      (await storedIds()).map((id) => id.replaceAll("-", "")),
    );
    await waitFor("all signals", () => new Set(collected.map(({ path }) => path)).size === 3);
    assert.ok(collected.every(({ key }) => key === "collector-secret"));
    const [{ name, attributes } = assert.fail()] = spans;
    assert.equal(name, "chat claude-haiku-4-5");
    const stated = (key: string) => attributes.find((each) => each.key === key)?.value;
    const [row] = await rig.meter.rows();
    const { promptTokens, cacheReadTokens, cacheWriteTokens } = row!.tokens;
    const input = (promptTokens ?? 0) + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
    assert.deepEqual(stated("gen_ai.usage.input_tokens"), { intValue: input });
    assert.deepEqual(stated("gen_ai.provider.name"), { stringValue: "anthropic" });
    assert.deepEqual(stated("meter.cost.usd"), { doubleValue: Number(row!.costPicoUsd) / 1e12 });
    assert.ok(!collected.some(({ body }) => body.includes('"x"')));
    const { stdout } = await rig.meter.run(["status", "--json"]);
    assert.ok(!stdout.includes("collector-secret"));
    assert.ok(!JSON.stringify(rig.meter.log()).includes("collector-secret"));
  });
});
