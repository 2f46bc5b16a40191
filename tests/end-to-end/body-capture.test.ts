import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createHome,
  onNodeOnly,
  readStore,
  removeHome,
  SUITE_TIMEOUT_MS,
  simulationConfig,
  startMeter,
} from "./meter-process.rig.ts";
import { useSimulation } from "./simulated-meter.rig.ts";

const KIB = 1_024;

describe("captured bodies, through the whole daemon", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  const rig = useSimulation("bodies");

  /** Returns the stored body of a prompt with this number of characters, each two bytes long. */
  async function captured(characters: number, config: readonly string[]) {
    const meter = await startMeter(createHome(simulationConfig(rig.parent, rig.simulation, config)));
    try {
      await meter.run(["project", "kept", "set", "body-capture", "on"]);
      const answer = await fetch(`http://127.0.0.1:${meter.proxyPort}/openai/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-meter-project": "kept" },
        body: JSON.stringify({
          model: "gpt-5-mini",
          messages: [{ role: "user", content: `scenario: plain ${"ü".repeat(characters)}` }],
        }),
      });
      await answer.text();
      const [row] = await meter.waitForRows(1);
      const id = row?.requestId ?? "";
      return await readStore(meter.home, (store) =>
        store.bodies.read(id).map((body) => ({ ...body, size: body.content.length })),
      );
    } finally {
      await meter.stop();
      removeHome(meter.home);
    }
  }

  const caps: readonly (readonly [what: string, config: readonly string[], capBytes: number])[] = [
    ["512 KiB unless told otherwise", [], 512 * KIB],
    ["what max_body_bytes says", ["[bodies]", "max_body_bytes = 2001"], 2_001],
  ];
  for (const [what, config, capBytes] of caps) {
    it(`are truncated at a character boundary at ${what}`, async () => {
      const [request, response] = await captured(300 * KIB, config);
      assert.ok(request !== undefined && response !== undefined);
      assert.ok(request.size <= capBytes && request.size >= capBytes - 1, `${request.size}`);
      assert.equal(request.truncated, true);
      assert.ok(request.originalSizeBytes > 600 * KIB);
      assert.match(new TextDecoder("utf-8", { fatal: true }).decode(request.content), /ü$/);
      assert.ok(response.size <= capBytes);
    });
  }
});
