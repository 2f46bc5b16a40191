import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { MAX_SAVED_VIEWS, type SavedViews } from "../../../core/wire/saved-views.ts";
import { auditOf } from "../kit/audit.ts";
import { type CloudRig, createRig, json, type TestPerson, type TestWorkspace } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { visitPages } from "./pages.rig.ts";

const BASE = "http://127.0.0.1:8787";
const config = { baseUrl: BASE, rateLimits: { perKey: 1e6, perUser: 1e6 } };
const HOSTILE = `<script>alert(1)</script>"'&\u202E`;

describeOnOneEngine("saved views", (engine) => {
  let rig: CloudRig;
  let app: ReturnType<CloudRig["app"]>;
  let workspace: TestWorkspace;
  let ann: TestPerson;
  let ben: TestPerson;
  let admin: TestPerson;
  before(async () => {
    rig = await createRig(engine, { config });
    app = rig.app(config);
  });
  after(() => rig.close());

  async function open() {
    workspace = await rig.addWorkspace({ plan: "business" });
    [ann, ben, admin] = [
      await rig.personIn(workspace, "member"),
      await rig.personIn(workspace, "member"),
      await rig.personIn(workspace, "workspaceAdmin"),
    ];
  }
  const pathOf = (id = "") => `/v1/workspaces/${workspace.id}/views${id === "" ? "" : `/${id}`}`;
  const save = (person: TestPerson, body: Record<string, unknown>) =>
    rig.call("POST", pathOf(), person.token, { page: "/explore", query: "", ...body });
  const list = async (person: TestPerson): Promise<SavedViews["items"]> =>
    (await json(rig.call("GET", pathOf(), person.token))).items;
  const events = async () => (await auditOf(rig, workspace.id)).map(([kind]) => kind);

  it("are private or shared; their owner changes them, and administrators change shared ones", async () => {
    await open();
    const { id: own } = await json(save(ann, { name: " Mine ", query: "by=provider&period=30d&top=10" }));
    const { id: shared } = await json(
      save(ann, { name: "Ours", page: "/", query: "project=a", shared: true }),
    );
    assert.deepEqual(
      (await list(ann)).map(({ name, page, query, shared: is, can_change }) => [
        name,
        page,
        query,
        is,
        can_change,
      ]),
      [
        // Defaults are omitted.
        ["Mine", "/explore", "by=provider", false, true],
        ["Ours", "/", "project=a", true, true],
      ],
    );
    assert.deepEqual(
      (await list(ben)).map(({ name, can_change }) => [name, can_change]),
      [["Ours", false]],
    );
    assert.deepEqual(
      (await list(admin)).map(({ name, can_change }) => [name, can_change]),
      [["Ours", true]],
    );
    for (const [person, id, status] of [
      [ben, own, 404],
      [admin, own, 404],
      [ben, shared, 403],
      [ben, rig.uuid(), 404],
      [ben, "x", 404],
    ] as const) {
      assert.equal((await rig.call("PATCH", pathOf(id), person.token, { name: "n" })).status, status);
      assert.equal((await rig.call("DELETE", pathOf(id), person.token)).status, status);
    }
    assert.equal((await rig.call("PATCH", pathOf(shared), admin.token, { name: "Everybody's" })).status, 204);
    assert.equal((await rig.call("PATCH", pathOf(own), ann.token, { name: "Still mine" })).status, 204);
    assert.equal((await rig.call("PATCH", pathOf(own), ann.token, { name: "Everybody's" })).status, 409);
    assert.equal((await rig.call("PATCH", pathOf(own), ann.token, {})).status, 422);
    assert.equal((await rig.call("PATCH", pathOf(shared), ann.token, { shared: false })).status, 204);
    assert.deepEqual(await list(ben), []);
    assert.equal((await rig.call("PATCH", pathOf(shared), ann.token, { shared: true })).status, 204);
    assert.equal((await rig.call("DELETE", pathOf(shared), admin.token)).status, 204);
    assert.equal((await rig.call("DELETE", pathOf(own), ann.token)).status, 204);
    assert.deepEqual(await events(), [
      "view_shared",
      "view_renamed",
      "view_unshared",
      "view_shared",
      "view_deleted",
    ]);
  });

  it("lead to a page with a valid query; names and numbers are bounded", async () => {
    await open();
    for (const body of [
      { page: "https://evil.example/" },
      { page: "//evil.example" },
      { page: "/settings" },
      { query: "colour=red" },
      { query: "by=nothing" },
      { query: "client=curl&by=model&by=project" },
      { page: "/requests", query: "sort=colour" },
      { page: "/sessions", query: "min_cost=much" },
      { query: `project=${"a".repeat(2_000)}` },
      { name: "" },
      { name: "  " },
      { name: "a".repeat(81) },
      { name: "\0" },
    ])
      assert.equal((await save(ann, { name: "n", ...body })).status, 422, JSON.stringify(body));
    for (const [page, query, stored] of [
      ["/", "period=7d&compare=prev", "period=7d"],
      ["/requests", "status=failed&cursor=abc&sort=cost", "sort=cost&status=failed"],
      ["/sessions", "sort=latest&model.not=m&min_cost=1.50", "min_cost=1.5&model.not=m"],
      ["/coverage", "period=7d", "period=7d"],
      ["/savings", "project=a%26b", "project=a%26b"],
      ["/models", "", ""],
      ["/projects", "form=1&model=", ""],
    ] as const) {
      assert.equal((await save(ann, { name: page, page, query })).status, 201, page);
      assert.equal((await list(ann)).find((view) => view.page === page)?.query, stored, page);
    }
    const twice = await save(ann, { name: "/" });
    assert.deepEqual([twice.status, (await json(twice)).code], [409, "view_exists"]);
    // Somebody else may use the name.
    assert.equal((await save(ben, { name: "/" })).status, 201);
    for (let n = (await list(ann)).length; n < MAX_SAVED_VIEWS; n += 1)
      assert.equal((await save(ann, { name: `view ${n}` })).status, 201);
    const more = await save(ann, { name: "one more" });
    assert.deepEqual([more.status, (await json(more)).code], [409, "too_many_views"]);
  });

  it("stay in their workspace", async () => {
    await open();
    const { id } = await json(save(ann, { name: "here", shared: true }));
    const other = await rig.addWorkspace({ plan: "business" });
    await rig.addMember(other, ann.userId, "admin");
    const elsewhere = `/v1/workspaces/${other.id}/views`;
    assert.deepEqual((await json(rig.call("GET", elsewhere, ann.token))).items, []);
    for (const method of ["PATCH", "DELETE"])
      assert.equal((await rig.call(method, `${elsewhere}/${id}`, ann.token, { name: "n" })).status, 404);
    assert.equal((await list(ann)).length, 1);
  });

  it("are saved, opened, renamed and deleted on pages, without scripts and with hostile names", async () => {
    await open();
    const visitor = visitPages(app, workspace, ann, BASE);
    const page = await visitor.read("/explore?by=provider&period=7d");
    const field = (name: string) =>
      (
        new RegExp(`<input type="hidden" name="${name}" value="([^"]*)">`).exec(page)?.[1] ??
        assert.fail(name)
      ).replaceAll("&amp;", "&");
    assert.equal(field("page"), "/explore");
    assert.equal(field("query"), "by=provider&period=7d");
    const saved = {
      action: "save",
      page: field("page"),
      query: field("query"),
      name: HOSTILE,
      shared: "yes",
    };
    assert.equal((await visitor.post("/views", saved, "https://evil.example")).status, 403);
    const answer = await visitor.post("/views", saved);
    assert.deepEqual(
      [answer.status, answer.headers.get("location")],
      [303, `/w/${workspace.id}/views?done=save`],
    );
    const asBen = visitPages(app, workspace, ben, BASE);
    for (const path of ["", "/requests", "/coverage", "/views"]) {
      const shown = await asBen.read(path);
      assert.ok(!shown.includes(HOSTILE) && shown.includes("<bdi>&lt;script&gt;alert(1)"), path);
      assert.match(shown, new RegExp(`href="/w/${workspace.id}/explore\\?period=7d&amp;by=provider"`), path);
    }
    assert.doesNotMatch(await asBen.read("/views"), /name="action"/);
    assert.doesNotMatch(await visitor.read("/keys"), /Save this view/);
    const [view] = await list(ann);
    const id = `${view?.id}`;
    assert.equal((await asBen.post("/views", { action: "delete", id })).status, 403);
    assert.equal((await visitor.post("/views", { action: "change", id, name: "Renamed" })).status, 303);
    assert.deepEqual(
      (await list(ann)).map(({ name, shared }) => [name, shared]),
      [["Renamed", false]],
    );
    const refused = await visitor.post("/views", { ...saved, query: "colour=red" });
    assert.equal(refused.status, 422);
    assert.equal((await visitor.post("/views", { action: "dance" })).status, 422);
    assert.equal((await visitor.post("/views", { action: "delete", id })).status, 303);
    assert.match(await visitor.read("/views"), /There are no saved views/);
  });
});
