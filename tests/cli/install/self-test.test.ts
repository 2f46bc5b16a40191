import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { after, before, describe, it } from "node:test";
import { withStore } from "../../../cli/home/open-store.ts";
import { selfTest } from "../../../cli/install/self-test.ts";
import { SELF_TEST_PROJECT } from "../../../core/privacy/policy/upload-policy.ts";
import { sampleRecord } from "../../daemon/store/sample-records.rig.ts";
import {
  createHome,
  type MeterProcess,
  onNodeOnly,
  removeHome,
  SUITE_TIMEOUT_MS,
  startMeter,
  waitFor,
} from "../../end-to-end/meter-process.rig.ts";
import { createEmptyHome } from "../run-command.rig.ts";

/** A server on Ollama's port; null while another self-test on this machine has it. */
async function startOllama(): Promise<Server | null> {
  const server = createServer((_request, answer) => {
    answer.writeHead(200, { "content-type": "application/json" }).end('{"version":"0.12.0"}');
  });
  server.listen(11_434, "127.0.0.1");
  return await once(server, "listening").then(
    () => server,
    () => null,
  );
}

describe("selfTest()", { skip: onNodeOnly, timeout: SUITE_TIMEOUT_MS }, () => {
  let meter: MeterProcess;
  before(async () => {
    meter = await startMeter(createHome(["[proxy]", "port = 0", "[api]", "port = 0"]));
  });
  after(async () => {
    await meter?.stop();
    if (meter !== undefined) removeHome(meter.home);
  });

  it("sends a free call to a running Ollama, and checks that it was counted", async () => {
    const ollama = await waitFor("Ollama's port", startOllama);
    try {
      const { home, proxyPort } = meter;
      assert.deepEqual(await selfTest({ home, proxyPort, proxyPassword: null }), {
        ok: true,
        how: "counted",
      });
    } finally {
      ollama.closeAllConnections();
      ollama.close();
    }
  });

  it("deletes the records of earlier tests that ended too early, and no other record", async () => {
    const { home, proxyPort } = meter;
    const at = Date.now() - 86_400_000;
    const earlier = { project: SELF_TEST_PROJECT, requestedAt: at };
    await withStore(home, { readOnly: false }, async ({ records, coverage }) => {
      records.insert([
        sampleRecord({ ...earlier, model: "meter-self-test" }),
        sampleRecord({ ...earlier, model: "gpt-5" }),
      ]);
      coverage.add([{ at, host: "127.0.0.1", kind: "metered", count: 1 }]);
    });
    // Ollama's port may be in use by another test.
    await waitFor("a metered call", async () => {
      const test = await selfTest({ home, proxyPort, proxyPassword: null });
      assert.equal(test.ok, true);
      return test.ok && test.how === "metered";
    });
    assert.deepEqual(
      (await meter.rows()).map(({ model }) => model),
      ["gpt-5"],
    );
    assert.equal(await meter.counted("metered"), 0);
    await withStore(home, { readOnly: false }, async ({ deletion }) => deletion.deleteSome(null));
  });

  it("passes if a used-up budget refuses its call, and leaves no record of it", async () => {
    const { code, stderr } = await meter.run([
      "budget",
      "set",
      "none",
      "0 requests",
      "--period",
      "day",
      "--block",
    ]);
    assert.equal(code, 0, stderr);
    const { home, proxyPort } = meter;
    // A busy machine may decide too late, and Ollama's port may be in use.
    await waitFor("a refusal", async () => {
      const test = await selfTest({ home, proxyPort, proxyPassword: null });
      assert.equal(test.ok, true);
      return test.ok && test.how === "refused";
    });
    assert.deepEqual([await meter.rows(), await meter.counted("blocked")], [[], 0]);
  });

  it("says in one line that the database can't be read, and not that the proxy can't be reached", async () => {
    const { home, remove } = createEmptyHome();
    try {
      const test = await selfTest({ home, proxyPort: meter.proxyPort, proxyPassword: null });
      assert.ok(!test.ok);
      assert.match(
        test.why,
        /^Nothing has been metered yet: there is no database in .*\. Start metering: meter start$/,
      );
    } finally {
      remove();
    }
  });
});
