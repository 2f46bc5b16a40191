import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { setPlan } from "../../../cloud/accounts/admin.ts";
import { createCloud } from "../../../cloud/create-cloud.ts";
import type { CheckoutOrder, OpenCheckout } from "../../../core/ports/checkout.ts";
import { type CloudRig, createRig, type TestPerson, type TestWorkspace } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const BASE = "http://127.0.0.1:8787";

describeOnOneEngine("after the two ticks", (engine) => {
  let rig: CloudRig;
  let workspace: TestWorkspace;
  let admin: TestPerson;
  before(async () => {
    rig = await createRig(engine);
    workspace = await rig.addWorkspace();
    admin = await rig.personIn(workspace, "workspaceAdmin");
  });
  after(() => rig.close());

  const planOf = async () => {
    const { plan } = await rig.db
      .selectFrom("workspaces")
      .select("plan")
      .where("workspace_id", "=", workspace.id)
      .executeTakeFirstOrThrow();
    return plan;
  };
  const consents = async () =>
    await rig.db
      .selectFrom("checkout_consent_records")
      .select(["consent_id", "plan"])
      .where("user_id", "=", admin.userId)
      .orderBy("consent_id")
      .execute();
  /** Fills in the page's form without changes and sends it. */
  const subscribe = async (checkout: OpenCheckout | null, ticks = ["agreed_terms", "agreed_immediate"]) => {
    const app = createCloud(
      {
        ...rig.parts,
        sha256,
        log: () => {},
        mail: async () => {},
        peerAddress: () => null,
        ...(checkout === null ? {} : { checkout }),
      },
      { baseUrl: BASE },
    );
    const path = `/w/${workspace.id}/subscribe`;
    const headers = { cookie: `session=${admin.token}`, origin: BASE };
    const form = await (await app.request(path, { headers })).text();
    const [, hash = ""] = /name="wording_hash" value="([0-9a-f]{64})"/.exec(form) ?? [];
    const fields = { plan: "team", period: "annual", wording_hash: hash };
    const body = new URLSearchParams({
      ...fields,
      ...Object.fromEntries(ticks.map((tick) => [tick, "yes"])),
    });
    return await app.request(path, { method: "POST", headers, body });
  };

  it("without a checkout the plan stays, and the page says that the operator changes it", async () => {
    const answer = await subscribe(null);
    assert.equal(answer.status, 200);
    const text = await answer.text();
    const [record] = await consents();
    assert.match(text, /The operator of this server will change the workspace to Team/);
    assert.ok(text.includes(`<dd>${record?.consent_id}</dd>`));
    assert.ok(text.includes(`<dd>${workspace.id}</dd>`));
    assert.equal(await planOf(), "solo");
  });

  it("the host's checkout opens with the agreed order, after the consent is recorded", async () => {
    const orders: CheckoutOrder[] = [];
    const answer = await subscribe(async (order) => {
      orders.push(order);
      assert.ok((await consents()).some(({ consent_id }) => consent_id === order.consentId));
      return 'https://pay.example/session?id=1&name="><script>';
    });
    assert.equal(answer.status, 200);
    const [order] = orders;
    assert.deepEqual(
      { ...order, consentId: "", person: order?.person.userId },
      {
        consentId: "",
        workspaceId: workspace.id,
        plan: "team",
        period: "annual",
        person: admin.userId,
        returnUrl: `${BASE}/w/${workspace.id}`,
      },
    );
    assert.equal(
      answer.headers.get("refresh"),
      "0; url=https://pay.example/session?id=1&name=%22%3E%3Cscript%3E",
    );
    const text = await answer.text();
    assert.match(text, /href="https:\/\/pay\.example\/session\?id=1&amp;name=%22%3E%3Cscript%3E"/);
    assert.doesNotMatch(text, /<script/);
    assert.equal(await planOf(), "solo");
  });

  it("the checkout does not open unless both boxes are ticked", async () => {
    let opened = 0;
    for (const ticks of [[], ["agreed_terms"], ["agreed_immediate"]]) {
      const answer = await subscribe(async () => {
        opened += 1;
        return null;
      }, ticks);
      assert.equal(answer.status, 422);
    }
    assert.equal(opened, 0);
  });

  it("the consent holds the visitor's own address, through as many proxies as are the host's", async () => {
    const forwarded = "203.0.113.7, 198.51.100.2";
    for (const [trustedHops, ip] of [
      [0, "192.0.2.1"],
      [1, "198.51.100.2"],
      [2, "203.0.113.7"],
    ] as const) {
      const app = rig.app({ baseUrl: BASE, trustedHops });
      const headers = { cookie: `session=${admin.token}`, origin: BASE, "x-forwarded-for": forwarded };
      const path = `/w/${workspace.id}/subscribe`;
      const form = await (await app.request(path, { headers })).text();
      const [, hash = ""] = /name="wording_hash" value="([0-9a-f]{64})"/.exec(form) ?? [];
      const fields = { plan: "team", period: "monthly", agreed_terms: "yes", agreed_immediate: "yes" };
      const body = new URLSearchParams({ ...fields, wording_hash: hash });
      const answer = await app.request(path, { method: "POST", headers, body }, { peer: "192.0.2.1" });
      assert.equal(answer.status, 200);
      const [, id = ""] = /<dt>Reference<\/dt><dd>([^<]+)/.exec(await answer.text()) ?? [];
      const stored = await rig.db
        .selectFrom("checkout_consent_records")
        .select("ip")
        .where("consent_id", "=", id)
        .executeTakeFirstOrThrow();
      assert.equal(stored.ip, ip);
    }
  });

  it("a failed checkout, or one without a web address, is an error, and the consent stays", async () => {
    const before = (await consents()).length;
    const failing: readonly OpenCheckout[] = [
      async () => Promise.reject(new Error("the provider is away")),
      async () => "javascript:alert(1)",
    ];
    for (const checkout of failing) {
      const answer = await subscribe(checkout);
      assert.equal(answer.status, 500);
      assert.equal(answer.headers.get("refresh"), null);
      assert.doesNotMatch(await answer.text(), /javascript|provider is away/);
    }
    assert.equal((await consents()).length, before + 2);
  });

  it("a checkout with nothing to pay may set the plan at once, with an event", async () => {
    const answer = await subscribe(async ({ workspaceId, plan }) => {
      await setPlan(rig.parts, workspaceId, plan);
      return null;
    });
    assert.match(await answer.text(), /Work is on Team\./);
    assert.equal(await planOf(), "team");
    const events = await rig.db
      .selectFrom("audit_events")
      .select("kind")
      .where("workspace_id", "=", workspace.id)
      .execute();
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ["plan_changed"],
    );
  });
});
