import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import fc from "fast-check";
import { type Served, serve } from "../../../adapters/http/serve.ts";
import { judgeVariance } from "../../../core/pricing/reconcile/variance.ts";
import { toOutgoingRecord } from "../../../core/privacy/policy/outgoing-record.ts";
import type { RequestRecord } from "../../../core/values/record.ts";
import { type CloudRig, createRig, START, type TestWorkspace } from "../../cloud/kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../cloud/kit/engines.ts";
import { propertyRuns } from "../../core/property-runs.rig.ts";
import { sampleRecord } from "../store/sample-records.rig.ts";
import { createMachine, credentialsFor, type Machine } from "./cloud.rig.ts";

const DAY = "2026-11-21";

/** A record of an OpenAI model whose cost equals the one that the cloud computes. */
const priced = (given: Partial<RequestRecord> = {}): RequestRecord =>
  sampleRecord({ requestedAt: START - 60_000, ...given });

describeOnOneEngine("the daemon's side against the real cloud", (engine) => {
  let rig: CloudRig;
  let served: Served;
  let baseUrl: string;
  /**
   * The faults of the next requests: `dropped` before the cloud receives them, `lost` after the cloud has handled them.
   */
  const network: ("dropped" | "lost" | "fine")[] = [];

  before(async () => {
    rig = await createRig(engine, { config: { rateLimits: { perKey: 1e9 } } });
    const app = rig.app({ rateLimits: { perKey: 1e9, pairingPerAddress: 1e9, pollPerAddress: 1e9 } });
    served = await serve(
      async (request) => {
        const fate = network.shift();
        if (fate === "dropped") return new Response(null, { status: 503 });
        const answer = await app.fetch(request);
        return fate === "lost" ? new Response(null, { status: 502 }) : answer;
      },
      { host: "127.0.0.1", port: 0 },
    );
    baseUrl = `http://127.0.0.1:${served.port}`;
  });
  after(async () => {
    await served.close(0);
    await rig.close();
  });

  async function connected(
    settings: Parameters<CloudRig["addWorkspace"]>[0] = {},
    cloud: Record<string, unknown> = {},
  ): Promise<{ machine: Machine; workspace: TestWorkspace }> {
    const workspace = await rig.addWorkspace(settings);
    const machine = await createMachine(baseUrl, { token: workspace.token, config: { cloud } });
    return { machine, workspace };
  }

  async function reconciled(machine: Machine) {
    const result = await machine.service.reconcile(DAY, DAY);
    assert.equal(result.kind, "compared");
    if (result.kind !== "compared") throw new Error("unreachable");
    return result.reconciliation;
  }

  it("delivers a backlog of 1,203 requests, and both totals agree exactly", async () => {
    const { machine } = await connected();
    try {
      machine.store.records.insert(Array.from({ length: 1_203 }, () => priced()));
      const { report } = await machine.service.syncNow();
      assert.deepEqual([report.ok, report.accepted], [true, 1_203]);
      const found = await reconciled(machine);
      assert.deepEqual([found.isDeliveryExact, found.cloud.requests], [true, 1_203]);
      assert.equal(found.local.reportedCostPicoUsd, found.cloud.reportedCostPicoUsd);
      assert.equal(judgeVariance(found.local.reportedCostPicoUsd, found.cloud.reportedCostPicoUsd), "good");
    } finally {
      await machine.close();
    }
  });

  it("counts pending, skipped and quarantined requests in a comparison", async () => {
    const { machine } = await connected({}, { upload: { per_project: { secret: false } } });
    try {
      machine.store.records.insert([priced(), priced({ project: "secret" })]);
      await machine.service.syncNow();
      machine.store.records.insert([priced()]);
      const found = await reconciled(machine);
      assert.deepEqual([found.pendingRequests, found.skippedRequests, found.cloud.requests], [1, 1, 1]);
      assert.equal(found.isDeliveryExact, true);
    } finally {
      await machine.close();
    }
  });

  it("finds out if the cloud rewrites its ledger of costs, or cuts rows off", async () => {
    const { machine, workspace } = await connected();
    try {
      const credentials = credentialsFor(baseUrl, workspace.token);
      await machine.ports.credentials.write({ ...credentials, workspaceId: workspace.id });
      const check = async () => {
        const result = await machine.service.checkLedger();
        return result.kind === "compared"
          ? [result.witness.heads.costs.seq, result.witness.fault?.fault]
          : null;
      };
      const send = async () => {
        machine.store.records.insert([priced()]);
        await machine.service.syncNow();
      };
      await send();
      assert.deepEqual(await check(), [1, undefined]);
      await send();
      assert.deepEqual(await check(), [2, undefined]);
      await rig.db
        .updateTable("cost_seals")
        .set({ hash: "f".repeat(64) })
        .where("seq", "=", "2")
        .execute();
      await send();
      assert.deepEqual(await check(), [2, "history_rewritten"]);
      await machine.service.checkLedger({ accept: true });
      assert.deepEqual(await check(), [3, undefined]);
      await rig.db
        .deleteFrom("cost_seals")
        .where("workspace_id", "=", workspace.id)
        .where("seq", "=", "3")
        .execute();
      await rig.db
        .updateTable("cost_seal_heads")
        .set({ seq: "2" })
        .where("workspace_id", "=", workspace.id)
        .execute();
      assert.deepEqual(await check(), [3, "tail_cut"]);
    } finally {
      await machine.close();
    }
  });

  it("agrees after the usage of a record was completed on both sides", async () => {
    const { machine } = await connected();
    try {
      const whole = priced();
      const [promptTokens, completionTokens, thinkingTokens] = [null, null, null];
      const [cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens] = [null, null, null];
      const tokens = {
        ...{ promptTokens, completionTokens, thinkingTokens },
        ...{ cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens },
      };
      const unpriced = { costPicoUsd: null, costSource: "unpriced", ratesSource: null } as const;
      machine.store.records.insert([{ ...whole, ...unpriced, tokens, tokensComplete: false }]);
      await machine.service.syncNow();
      machine.store.records.insert([whole]);
      const { report } = await machine.service.syncNow();
      assert.deepEqual([report.accepted, report.duplicates], [0, 1]);
      const found = await reconciled(machine);
      assert.deepEqual([found.isDeliveryExact, found.cloud.requests], [true, 1]);
      assert.equal(found.cloud.promptTokens, whole.tokens.promptTokens);
    } finally {
      await machine.close();
    }
  });

  it("compares the fields that were sent, even if the policy has changed", async () => {
    const { machine } = await connected();
    const setUpload = (upload: Record<string, unknown>) => {
      machine.config.cloud = { ...(machine.config.cloud as object), upload };
    };
    try {
      machine.store.records.insert([priced()]);
      await machine.service.syncNow();
      const counts = { prompt_tokens: false, completion_tokens: false, cost_pico_usd: false };
      setUpload({ preset: "minimal", ...counts, cost_usd_minor_units: false });
      machine.store.records.insert([priced(), priced()]);
      await machine.service.syncNow();
      assert.equal((await reconciled(machine)).isDeliveryExact, true);
      setUpload({ preset: "full" });
      const found = await reconciled(machine);
      assert.deepEqual([found.isDeliveryExact, found.cloud.requests], [true, 3]);
      assert.equal(found.cloud.promptTokens, priced().tokens.promptTokens);
      assert.equal(typeof found.variancePercent, "string");
    } finally {
      await machine.close();
    }
  });

  it("distinguishes a field that was not sent from a lost one in a comparison", async () => {
    const { machine } = await connected(
      {},
      { upload: { preset: "minimal", cost_pico_usd: false, prompt_tokens: false } },
    );
    try {
      machine.store.records.insert([priced(), priced({ costPicoUsd: 15_000_000n })]);
      await machine.service.syncNow();
      assert.equal((await reconciled(machine)).isDeliveryExact, true);
    } finally {
      await machine.close();
    }
  });

  it("keeps bodies pending while the workspace's gate is off, and uploads them once it is on", async () => {
    const { machine, workspace } = await connected(
      {},
      { bodies: { enabled: true, upload_from: "2020-01-01" } },
    );
    try {
      await machine.service.reload();
      machine.config.cloud = {
        ...(machine.config.cloud as object),
        bodies: { enabled: true, upload_from: "none" },
      };
      const record = priced();
      machine.store.records.insert([record]);
      const body = {
        requestId: record.requestId,
        capturedAt: START,
        contentType: "application/json",
        content: new TextEncoder().encode('{"prompt":"a\\u0000b"}'),
        originalSizeBytes: 20,
        truncated: false,
        redactionApplied: false,
        redactionSummary: [],
      };
      machine.store.bodies.insert([
        { ...body, direction: "request" },
        { ...body, direction: "response" },
      ]);
      const off = await machine.service.syncNow();
      assert.deepEqual(
        [off.kind, off.bodies?.uploaded, off.bodies?.policyRejected, off.bodies?.pending],
        ["synced", 0, 2, 2],
      );
      assert.equal((await machine.service.state()).bodies.recordsPolicyRejected, 2);
      assert.equal((await machine.service.whoami()).kind, "valid");
      await rig.db
        .updateTable("workspaces")
        .set({ store_prompt_content: true })
        .where("workspace_id", "=", workspace.id)
        .execute();
      const on = await machine.service.syncNow();
      assert.deepEqual([on.bodies?.uploaded, on.bodies?.pending, on.bodies?.policyRejected], [2, 0, 0]);
      assert.equal((await machine.service.state()).bodies.recordsPolicyRejected, 0);
    } finally {
      await machine.close();
    }
  });

  it("uploads the bodies of other projects while a project's key is missing, and its bodies once the key is back", async () => {
    const bodies = { enabled: true, upload_from: "none" };
    const { machine, workspace } = await connected({ storePromptContent: true }, { bodies });
    const capture = (...projects: string[]) => {
      const records = projects.map((project) => priced({ project }));
      machine.store.records.insert(records);
      machine.store.bodies.insert(
        records.map(({ requestId }) => ({
          ...{ requestId, direction: "request", capturedAt: START, contentType: "application/json" },
          ...{ content: new TextEncoder().encode(`{"id":"${requestId}"}`), originalSizeBytes: 45 },
          ...{ truncated: false, redactionApplied: false, redactionSummary: [] },
        })),
      );
    };
    const upload = async () => {
      const { uploaded, pending, quarantined } = (await machine.service.syncNow()).bodies ?? {};
      return [uploaded, pending, quarantined];
    };
    const keysOf = async () =>
      await rig.db
        .selectFrom("body_keys")
        .select("key_id")
        .where("workspace_id", "=", workspace.id)
        .orderBy("key_id")
        .execute();
    try {
      await machine.service.reload();
      capture("apollo");
      assert.deepEqual(await upload(), [1, 0, 0]);
      const [apollo] = await keysOf();
      const keyId = String(apollo?.key_id);
      const key = rig.bodyKeys.stored.get(keyId);
      assert.ok(key);
      await rig.bodyKeys.destroy([keyId]);
      rig.log.length = 0;
      capture(...Array(60).fill("apollo"), "zeus", "apollo", "zeus");
      assert.deepEqual(await upload(), [2, 61, 0]);
      const { pausedReason, consecutiveFailures } = (await machine.service.state()).bodies;
      assert.deepEqual([pausedReason, consecutiveFailures], [null, 0]);
      const missing = rig.log.flatMap((each) => (each.event === "cloud.body_key_unavailable" ? [each] : []));
      assert.deepEqual(
        missing.map(({ request_id: _, ...rest }) => rest),
        [
          {
            event: "cloud.body_key_unavailable",
            ...{ workspace_id: workspace.id, user_id: workspace.userId, key_id: keyId, reason: "missing" },
          },
        ],
      );
      assert.equal((await keysOf()).length, 2);
      await rig.bodyKeys.write(keyId, key);
      assert.deepEqual(await upload(), [61, 0, 0]);
      assert.equal((await keysOf()).length, 2);
    } finally {
      await machine.close();
    }
  });

  it("pulls rates only over https, which this cloud does not use", async () => {
    const { machine } = await connected();
    try {
      assert.deepEqual(await machine.service.refreshRates(), { kind: "not_https" });
    } finally {
      await machine.close();
    }
  });

  it("pauses if its key is revoked, and reports that on resume", async () => {
    const { machine } = await connected();
    try {
      assert.deepEqual((await machine.service.whoami()).kind, "valid");
      const kept = await machine.ports.credentials.read();
      await machine.service.disconnect();
      assert.ok(kept);
      await machine.ports.credentials.write(kept);
      machine.config.cloud = { ...(machine.config.cloud as object), enabled: true };
      machine.store.records.insert([priced()]);
      assert.equal((await machine.service.syncNow()).report.message, "sync is paused: paused_unauthorised");
      assert.equal((await machine.service.resume()).reason, "key_invalid");
    } finally {
      await machine.close();
    }
  });

  // Planted once: a batch stamped as synced when it is sent, not when it is answered; all that is sent added to the
  // rollups, not what is new. Found at once, in the second run at the latest.
  it("any record delivered 1 to 50 times in any order, with losses, counts once", {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 50 })), { minLength: 1, maxLength: 12 }),
        fc.array(fc.constantFrom("dropped" as const, "lost" as const, "fine" as const), { maxLength: 12 }),
        fc.infiniteStream(fc.nat()),
        async (times, losses, numbers) => {
          const { machine } = await connected();
          try {
            const records = times.map((_, index) =>
              priced({ project: `p${index % 3}`, costPicoUsd: BigInt(index) * 10_000_000n }),
            );
            machine.store.records.insert(records);
            network.splice(0, network.length, ...losses);
            // By the daemon, repeatedly as responses are lost …
            for (let tries = 0; machine.store.delivery.countPending() > 0 && tries < 100; tries += 1) {
              await machine.service.syncNow();
            }
            network.length = 0;
            // … and by others up to 50 times in all, in any order, some of them twice in one batch.
            const again = records.flatMap((record, index) =>
              Array((times[index] as number) - 1).fill(record),
            );
            const shuffled = again
              .map((record: RequestRecord) => [numbers.next().value as number, record] as const)
              .sort(([one], [other]) => one - other)
              .map(([, record]) => record);
            await deliver(machine, shuffled);
            const found = await reconciled(machine);
            assert.equal(found.isDeliveryExact, true);
            assert.equal(found.cloud.requests, records.length);
          } finally {
            await machine.close();
          }
        },
      ),
      { numRuns: propertyRuns(8) },
    );
  });

  async function deliver(machine: Machine, records: readonly RequestRecord[]): Promise<void> {
    const credentials = await machine.ports.credentials.read();
    const { cloud } = await machine.ports.settings();
    for (let at = 0; at < records.length; at += 50) {
      const sent = records.slice(at, at + 50).flatMap((record) => {
        const outgoing = toOutgoingRecord(record, cloud.upload);
        return outgoing.kind === "send" ? [outgoing.record] : [];
      });
      const answer = await fetch(`${baseUrl}/v1/requests/batch`, {
        method: "POST",
        headers: { authorization: `Bearer ${credentials?.token}` },
        body: JSON.stringify({ daemon_version: "0.4.0", records: sent }),
      });
      assert.equal(answer.status, 200);
      await answer.body?.cancel();
    }
  }
});
