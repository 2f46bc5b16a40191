import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import * as v from "valibot";
import { API_ROUTES, type ApiRoute, refusalStatuses } from "../../../cloud/api/api-routes.ts";
import { CloudApiError, createCloudClient } from "../../../cloud/api/client.ts";
import { openApiDocument } from "../../../cloud/api/open-api.ts";
import { type CloudRig, createRig, record } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { sendBody, sendRequest } from "../kit/stored-body.ts";

/** The types of schema whose output can have fields that they do not name. */
const OPEN_TYPES = ["any", "custom", "loose_object", "map", "object_with_rest", "record", "unknown"];

/** Returns the types of the parts of a schema that keep fields which they do not name. */
function openParts(schema: object): string[] {
  const { type, entries, item, wrapped, options, pipe } = schema as {
    readonly type?: string;
    readonly entries?: Readonly<Record<string, object>>;
    readonly item?: object;
    readonly wrapped?: object;
    readonly options?: readonly unknown[];
    readonly pipe?: readonly object[];
  };
  const parts = [...Object.values(entries ?? {}), item, wrapped, ...(options ?? []), ...(pipe ?? [])];
  const inner = parts.filter((part) => typeof part === "object" && part !== null && part !== schema);
  const own = OPEN_TYPES.includes(type ?? "")
    ? [type ?? ""]
    : inner.flatMap((part) => openParts(part as object));
  return [...new Set(own)];
}

describeOnOneEngine("the table of the API", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine);
  });
  after(() => rig.close());

  it("has every route that the app answers below /v1, and no others", () => {
    const answered = new Set(
      rig
        .app()
        .routes.filter(({ path, method }) => path.startsWith("/v1/") && method !== "ALL")
        .map(({ method, path }) => `${method} ${path}`),
    );
    assert.deepEqual(Object.keys(API_ROUTES).toSorted(), [...answered].toSorted());
  });

  it("keeps only the fields of a body that its schema names", () => {
    const open = Object.entries(API_ROUTES).flatMap(([name, route]: [string, ApiRoute]) =>
      route.body === undefined ? [] : openParts(route.body).map((type) => `${name}: ${type}`),
    );
    // Its records are parsed one by one, by a schema that drops other fields too.
    assert.deepEqual(open, ["POST /v1/requests/batch: loose_object"]);
  });

  it("is served as OpenAPI 3.1, in which every reference resolves", async () => {
    const answer = await rig.call("GET", "/openapi.json", null);
    assert.equal(answer.status, 200);
    const text = await answer.text();
    const document = JSON.parse(text);
    assert.equal(document.openapi, "3.1.0");
    assert.deepEqual(document, JSON.parse(JSON.stringify(openApiDocument("http://127.0.0.1:8787"))));
    // The name in `adapters/accounts`; its tests check both names.
    assert.equal(document.components.securitySchemes.cookie.name, "meter.session_token");
    const overTls = JSON.parse(JSON.stringify(openApiDocument("https://meter.example")));
    assert.equal(overTls.components.securitySchemes.cookie.name, "__Secure-meter.session_token");
    assert.deepEqual(
      [...new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference))],
      ["#/components/schemas/Problem"],
    );
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods as object));
    assert.equal(operations.length, Object.keys(API_ROUTES).length);
    for (const { summary, responses, security } of operations) {
      assert.ok(summary.length > 0 && responses["500"] !== undefined && Array.isArray(security));
      for (const status of ["401", "403"]) assert.equal(status in responses, security.length > 0, summary);
    }
    const batchSchema =
      document.paths["/v1/requests/batch"].post.requestBody.content["application/json"].schema;
    assert.deepEqual(batchSchema.required, ["daemon_version", "records"]);
    const { schema: envelope } =
      document.paths["/v1/requests/{id}/body"].post.requestBody.content["application/json"];
    assert.equal(envelope.title, "BodyEnvelopeV021");
    assert.deepEqual(envelope.required, [
      ...["request_id", "direction", "content_type", "body_b64"],
      ...["redaction_applied", "redaction_summary", "original_size_bytes"],
    ]);
    assert.deepEqual(
      document.paths["/v1/workspaces/{ws}/traces/{request_id}"].get.parameters.map(
        ({ name }: { name: string }) => name,
      ),
      ["ws", "request_id"],
    );
  });

  it("matches real answers: the typed client parses what the app returns", async () => {
    const workspace = await rig.addWorkspace({ plan: "business" });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const app = rig.app();
    const clientOf = (token: string | null) =>
      createCloudClient({
        baseUrl: "http://127.0.0.1:8787",
        token,
        fetch: async (request) => await app.fetch(request),
      });
    const daemon = clientOf(workspace.token);
    const person = clientOf(admin.token);
    const params = { ws: workspace.id };
    const sent = { ...record(rig.uuid()), request_id: rig.uuid() };

    assert.deepEqual(
      await daemon.call("POST /v1/requests/batch", {
        body: { daemon_version: "0.4.0", records: [sent] },
      }),
      {
        accepted: 1,
        duplicates: 0,
        rejected: [],
      },
    );
    assert.equal((await daemon.call("GET /v1/daemon/whoami", {})).workspace.id, workspace.id);
    assert.ok(((await daemon.call("GET /v1/pricing/rates", {}))?.rates.length ?? 0) > 0);
    const dates = { from_date: "2026-11-20", to_date: "2026-11-22" };
    const totals = await daemon.call("GET /v1/reconciliation/daemon-totals", { query: dates });
    assert.equal(totals.days.length, 1);
    const envelope = {
      request_id: sent.request_id,
      direction: "request" as const,
      content_type: "text/plain",
      body_b64: "eA==",
      redaction_applied: false,
      redaction_summary: [],
      original_size_bytes: 1,
    };
    assert.deepEqual(
      await daemon.call("POST /v1/requests/:id/body", { params: { id: sent.request_id }, body: envelope }),
      { stored: false, reason: "store_prompt_content_disabled" },
    );
    const traces = await person.call("GET /v1/workspaces/:ws/traces", { params, query: {} });
    assert.deepEqual(
      traces.items.map(({ request_id }) => request_id),
      [sent.request_id],
    );
    await person.call("GET /v1/workspaces/:ws/traces/:request_id", {
      params: { ...params, request_id: sent.request_id },
    });
    for (const name of [
      "GET /v1/workspaces/:ws/overview",
      "GET /v1/workspaces/:ws/optimisation",
      "GET /v1/workspaces/:ws/audit/requests",
      "GET /v1/workspaces/:ws/audit/events",
      "GET /v1/workspaces/:ws/audit/prompt-views",
    ] as const) {
      await person.call(name, { params, query: {} });
    }
    for (const name of [
      "GET /v1/workspaces/:ws/settings",
      "GET /v1/workspaces/:ws/settings/advanced",
      "GET /v1/workspaces/:ws/members",
      "GET /v1/workspaces/:ws/invitations",
      "GET /v1/workspaces/:ws/machines",
      "GET /v1/workspaces/:ws/keys",
      "GET /v1/workspaces/:ws/privacy",
    ] as const) {
      await person.call(name, { params });
    }
    assert.equal((await person.call("GET /v1/me", {})).workspaces.length, 1);
    assert.equal((await person.call("GET /v1/workspaces", {})).items.length, 1);
    const by = await person.call("GET /v1/workspaces/:ws/analytics", { params, query: { by: "model" } });
    assert.ok(by !== null);
    const compared = await person.call("GET /v1/workspaces/:ws/usage/comparison", {
      params,
      query: { as: "anthropic/claude-sonnet-4-5" },
    });
    assert.deepEqual(
      [compared.as.model, compared.models.map(({ totals }) => totals.requests)],
      ["claude-sonnet-4-5", [1]],
    );
    assert.equal((await clientOf(null).call("GET /v1/consent/checkout", {})).strings.length, 2);
    assert.equal(await daemon.call("DELETE /v1/daemon/key", {}), null);
    await assert.rejects(
      daemon.call("GET /v1/daemon/whoami", {}),
      (error) =>
        error instanceof CloudApiError && error.status === 401 && error.problem?.code === "unauthorised",
    );
  });

  it("lets the typed client read a teammate's body with a workspace and a reason or a recorded view", async () => {
    const workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
    const admin = await rig.personIn(workspace, "workspaceAdmin");
    const app = rig.app();
    const requestId = await sendRequest(rig, workspace);
    await sendBody(rig, workspace, requestId, "hello");
    const person = createCloudClient({
      baseUrl: "http://127.0.0.1:8787",
      token: admin.token,
      fetch: async (request) => await app.fetch(request),
    });
    const params = { request_id: requestId };
    await assert.rejects(
      person.call("GET /v1/traces/:request_id/body", { params, query: {} }),
      (error) => error instanceof CloudApiError && error.problem?.code === "reason_missing",
    );
    const announced = await person.call("POST /v1/audit/prompt-views", {
      body: {
        workspace_id: workspace.id,
        request_id: requestId,
        subject_user_id: workspace.userId,
        reason: "incident 12",
      },
    });
    for (const why of [{ reason: "incident 12" }, { view_id: announced.view_id }]) {
      const query = { workspace_id: workspace.id, ...why };
      const read = await person.call("GET /v1/traces/:request_id/body", { params, query });
      assert.equal(read.request?.text, "hello");
    }
    const { paths } = openApiDocument("http://127.0.0.1:8787") as {
      paths: Record<string, { get: { parameters: { name: string; in: string }[] } }>;
    };
    assert.deepEqual(
      paths["/v1/traces/{request_id}/body"]?.get.parameters.map((each) => `${each.in} ${each.name}`),
      [
        "path request_id",
        ...["workspace_id", "reason", "view_id", "request_version", "response_version"].map(
          (name) => `query ${name}`,
        ),
      ],
    );
  });

  it("lists 400 for every route that takes a cursor", () => {
    for (const [name, route] of Object.entries<ApiRoute>(API_ROUTES)) {
      const { query } = route;
      const takes = query !== undefined && "entries" in query && "cursor" in (query.entries as object);
      if (takes) assert.ok(refusalStatuses(route).includes(400), name);
    }
  });

  it("has a body schema that rejects nonsense for every route that takes a body", () => {
    for (const [name, route] of Object.entries<ApiRoute>(API_ROUTES)) {
      if (route.body !== undefined) assert.equal(v.safeParse(route.body, "nonsense").success, false, name);
    }
  });
});
