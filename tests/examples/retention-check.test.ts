import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { createRetentionServer } from "../../examples/retention-check/server.ts";
import { runExample } from "./run-example.rig.ts";

const now = Date.UTC(2026, 10, 21, 12);
const server = createRetentionServer(
  {
    plan: "team",
    dataRetentionDays: 60,
    auditLogRetentionDays: 365,
    requests: [now - 1, now - 86_400_000 * 59],
  },
  () => now,
);

async function ask(path: string, init: RequestInit = {}): Promise<{ status: number; body: unknown }> {
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  return { status: response.status, body: await response.json() };
}

describe("examples/retention-check", () => {
  before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  it("runs: traces reject a period, the overview clamps it", async () => {
    const lines = await runExample("retention-check");
    assert.deepEqual(
      lines.map((line) => line.split(" ").slice(0, 3).join(" ")),
      [
        "/traces -> 200",
        "/traces?from=2026-11-01 -> 400",
        "/overview?from=2020-01-01 -> 200",
        "/overview?from=soon -> 400",
      ],
    );
    assert.match(lines[1] ?? "", /"floor":"2026-11-14T12:00:00.000Z"/);
    assert.match(lines[2] ?? "", /"clamped_from":"2020-01-01T00:00:00.000Z"/);
  });
  it("answers exactly at the floor and refuses a millisecond below it", async () => {
    assert.equal((await ask("/traces?from=2026-10-22T12:00:00.000Z")).status, 200);
    assert.equal((await ask("/traces?from=2026-10-22T11:59:59.999Z")).status, 400);
  });
  it("counts only what is in the period", async () => {
    const { body } = await ask("/overview?from=2026-11-21&to=2026-11-22");
    assert.equal((body as { requests: number }).requests, 1);
  });
  it("rejects any other path and method", async () => {
    assert.equal((await ask("/nothing")).status, 404);
    assert.equal((await ask("/traces", { method: "POST" })).status, 405);
  });
  it("rejects a plan that does not exist", () => {
    const workspace = { plan: "gold", dataRetentionDays: 1, auditLogRetentionDays: 1, requests: [] };
    assert.throws(() => createRetentionServer(workspace, () => now), RangeError);
  });
});
