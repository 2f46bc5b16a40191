import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { onNodeOnly, SUITE_TIMEOUT_MS, waitFor } from "./meter-process.rig.ts";
import { useSimulatedMeter } from "./simulated-meter.rig.ts";

describe("a webhook of a running daemon", { timeout: SUITE_TIMEOUT_MS, skip: onNodeOnly }, () => {
  const received: { type: string; ids: string[] }[] = [];
  let isUp = true;
  const receiver = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { type, data } = JSON.parse(body) as { type: string; data: { records: { request_id: string }[] } };
    if (isUp) received.push({ type, ids: data.records.map(({ request_id }) => request_id) });
    response.writeHead(isUp ? 204 : 503).end();
  });

  before(async () => {
    receiver.listen(0, "127.0.0.1");
    await once(receiver, "listening");
  });
  after(() => receiver.close());
  const rig = useSimulatedMeter("webhooks", () => [
    "[[webhooks]]",
    `url = "http://127.0.0.1:${(receiver.address() as AddressInfo).port}/x"`,
    'events = ["record.stored"]',
    `secret = "whsec_${Buffer.alloc(32, 1).toString("base64")}"`,
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
});
