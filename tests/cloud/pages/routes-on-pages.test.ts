import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { API_ROUTES, type ApiRouteName } from "../../../cloud/api/api-routes.ts";
import { type CloudRig, createRig, json, type TestPerson, type TestWorkspace } from "../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../kit/engines.ts";
import { sendBody, sendRequest } from "../kit/stored-body.ts";

const BASE = "http://127.0.0.1:8787";
const config = {
  baseUrl: BASE,
  rateLimits: { perKey: 1e6, perUser: 1e6 },
  checkoutStrings: ["I accept the terms.", "Start at once."],
};
const SESSION = "a".repeat(32);

/** What the steps need to know. */
interface World {
  readonly rig: CloudRig;
  readonly workspace: TestWorkspace;
  /** Owns the organisation and administers the workspace. */
  readonly owner: TestPerson;
  readonly requestId: string;
  /** Opens a page. Returns its text. */
  open(path: string): Promise<string>;
  /**
   * Sends the form of a page that has these hidden fields, with what the page filled in and what the person does. The form must be on
   * the page.
   */
  send(page: string, hidden: Fields, typed?: Fields): Promise<string>;
}

type Fields = Readonly<Record<string, string>>;

/** How a person reaches a route. */
type Way =
  /** Opens a page, which calls the route, or prints its address. */
  | string
  /** Uses the controls of pages, one of which calls the route. */
  | ((world: World) => Promise<unknown>)
  /** Opens a page that shows the same without the route. */
  | { readonly page: string; readonly shows: RegExp }
  | { readonly none: string };

/** Routes that people call, not machines. */
type PersonRoute = {
  [Name in ApiRouteName]: (typeof API_ROUTES)[Name]["caller"] extends "key" ? never : Name;
}[ApiRouteName];

const OLDER = "an older form of a route that pages use";

const firstOf = async ({ rig, workspace, owner }: World, list: string) =>
  (await json(rig.call("GET", `/v1/workspaces/${workspace.id}/${list}`, owner.token))).items[0];

/** Adds a member and returns their id. */
async function addMember({ rig, workspace }: World): Promise<string> {
  return (await rig.personIn(workspace, "member")).userId;
}

async function startPairing({ rig }: World): Promise<string> {
  const machine = { hostname: "ci-7", platform: "linux", daemon_version: "0.4.0" };
  return (await json(rig.call("POST", "/v1/pairing/start", null, machine))).code;
}

/** Each route that people call, and how a person reaches it. The last ones end what the others need. */
const WAYS: Readonly<Record<PersonRoute, Way>> = {
  "POST /v1/pairing/start": { none: "a machine calls it before it has a key" },
  "POST /v1/pairing/poll": { none: "a machine calls it before it has a key" },
  "GET /v1/workspaces/:ws/overview": { none: OLDER },
  "GET /v1/workspaces/:ws/analytics": { none: OLDER },
  "GET /v1/workspaces/:ws/optimisation": { none: OLDER },
  "GET /v1/workspaces/:ws/now": "/now",
  "GET /v1/workspaces/:ws/limits": "/limits",
  "GET /v1/workspaces/:ws/privacy": "/privacy",
  "GET /v1/workspaces/:ws/coverage": "/coverage",
  "GET /v1/workspaces/:ws/usage": "/explore",
  "GET /v1/workspaces/:ws/usage/values": { page: "", shows: /<option value="apollo"/ },
  "GET /v1/workspaces/:ws/usage/models": "/models?models=unused",
  "GET /v1/workspaces/:ws/usage/comparison": "/models?as=openai/gpt-5",
  "GET /v1/workspaces/:ws/usage/forecast": { page: "", shows: /<dt>November 2026 so far/ },
  "GET /v1/workspaces/:ws/savings": "/savings",
  "GET /v1/workspaces/:ws/traces": "/requests",
  "GET /v1/workspaces/:ws/traces/:request_id": ({ open, requestId }) => open(`/requests/${requestId}`),
  "GET /v1/workspaces/:ws/sessions": "/sessions",
  "GET /v1/workspaces/:ws/sessions/:session_id": `/sessions/${SESSION}`,
  "GET /v1/traces/:request_id/body": ({ send, requestId }) =>
    send(`/requests/${requestId}`, { action: "read" }, { reason: "An incident" }),
  "POST /v1/audit/prompt-views": { none: "reading a body with a reason records the view" },
  "GET /v1/workspaces/:ws/audit/requests": "/audit/requests",
  "GET /v1/workspaces/:ws/audit/events": "/audit/events",
  "GET /v1/workspaces/:ws/audit/prompt-views": "/audit/prompt-views",
  "GET /v1/workspaces/:ws/audit/verification": "/audit/verification?run=now",
  "GET /v1/consent/checkout": "/subscribe",
  "POST /v1/consent/checkout": ({ send }) =>
    send("/subscribe", {}, { plan: "team", period: "monthly", agreed_terms: "yes", agreed_immediate: "yes" }),
  "GET /v1/me": { page: "//account", shows: /<dt>Name<\/dt><dd><bdi>Olga/ },
  "GET /v1/workspaces": { page: "//account", shows: /<h2>Workspaces<\/h2>[\s\S]*Work/ },
  "POST /v1/workspaces": ({ send, workspace }) =>
    send(`//organisations/${workspace.organisationId}`, { action: "workspace" }, { name: "Second" }),
  "GET /v1/organisations": "//account",
  "POST /v1/organisations": ({ send }) => send("//account", { action: "organisation" }, { name: "Other" }),
  "GET /v1/organisations/:org/members": ({ open, workspace }) =>
    open(`//organisations/${workspace.organisationId}`),
  "PATCH /v1/organisations/:org/members/:user": async ({ rig, send, workspace }) => {
    const { userId } = await rig.personIn(workspace, "organisationMember");
    await send(
      `//organisations/${workspace.organisationId}`,
      { action: "role", user: userId },
      { role: "admin" },
    );
  },
  "DELETE /v1/organisations/:org/members/:user": async ({ rig, send, workspace }) => {
    const { userId } = await rig.personIn(workspace, "organisationMember");
    await send(`//organisations/${workspace.organisationId}`, { action: "remove", user: userId });
  },
  "GET /v1/workspaces/:ws/settings": "/settings",
  "PATCH /v1/workspaces/:ws/settings": ({ send }) => send("/settings", { action: "zone" }, { zone: "UTC" }),
  "GET /v1/workspaces/:ws/settings/advanced": { page: "/settings", shows: /<h2[^>]*>Retention/ },
  "PATCH /v1/workspaces/:ws/settings/advanced": ({ send }) =>
    send("/settings", { action: "retention" }, { data: "300", audit: "300" }),
  "GET /v1/workspaces/:ws/members": "/members",
  "PATCH /v1/workspaces/:ws/members/:user": async (world) =>
    world.send("/members", { action: "role", id: await addMember(world) }, { role: "admin" }),
  "DELETE /v1/workspaces/:ws/members/:user": async (world) =>
    world.send("/members", { action: "remove", id: await addMember(world) }),
  "POST /v1/workspaces/:ws/invitations": ({ send }) =>
    send("/members", { action: "invite" }, { email: "ben@example.com", role: "member" }),
  "GET /v1/workspaces/:ws/invitations": "/members",
  "POST /v1/workspaces/:ws/invitations/:id/resend": async (world) =>
    world.send("/members", { action: "resend", id: (await firstOf(world, "invitations")).id }),
  "DELETE /v1/workspaces/:ws/invitations/:id": async (world) =>
    world.send("/members", { action: "revoke", id: (await firstOf(world, "invitations")).id }),
  "POST /v1/invitations/accept": async ({ rig, send, open, owner }) => {
    const other = await rig.addWorkspace({ plan: "team" });
    const admin = await rig.personIn(other, "workspaceAdmin");
    const [person] = (await rig.accounts.getPeople([owner.userId])).values();
    const path = `/v1/workspaces/${other.id}/invitations`;
    await rig.call("POST", path, admin.token, { email: person?.email, role: "member" });
    const [link = ""] = /http\S+\/invitation#\S+/.exec(rig.mails.at(-1)?.text ?? "") ?? [];
    await send("//invitation", {}, { link });
    await open("//invitation");
    await send("//invitation", {}, {});
  },
  "GET /v1/workspaces/:ws/machines": "/machines",
  "PATCH /v1/workspaces/:ws/machines/:id": ({ send, workspace }) =>
    send("/machines", { action: "rename", id: workspace.machineId }, { name: "Ann's" }),
  "POST /v1/workspaces/:ws/machines/:id/block": ({ send, workspace }) =>
    send("/machines", { action: "block", id: workspace.machineId }),
  "POST /v1/workspaces/:ws/machines/:id/invite": ({ send, workspace }) =>
    send("/machines", { action: "unblock", id: workspace.machineId }),
  "GET /v1/workspaces/:ws/budgets": "/budgets",
  "POST /v1/workspaces/:ws/budgets": ({ send }) =>
    send("/budgets", { action: "create" }, { name: "all", for: "workspace", amount: "20 USD" }),
  "PATCH /v1/workspaces/:ws/budgets/:id": async (world) =>
    world.send(
      "/budgets",
      { action: "change", id: (await firstOf(world, "budgets")).id },
      { amount: "30 USD" },
    ),
  "POST /v1/workspaces/:ws/budgets/:id/lift": async (world) =>
    world.send("/budgets", { action: "lift", id: (await firstOf(world, "budgets")).id }),
  "POST /v1/workspaces/:ws/budgets/:id/resume": async (world) =>
    world.send("/budgets", { action: "resume", id: (await firstOf(world, "budgets")).id }),
  "POST /v1/workspaces/:ws/budgets/:id/pause": async (world) =>
    world.send("/budgets", { action: "pause", id: (await firstOf(world, "budgets")).id }),
  "DELETE /v1/workspaces/:ws/budgets/:id": async (world) =>
    world.send("/budgets", { action: "remove", id: (await firstOf(world, "budgets")).id }),
  "GET /v1/workspaces/:ws/weekly-summary": {
    page: "//account",
    shows: /Turn on<span class="hidden"> the weekly/,
  },
  "PATCH /v1/workspaces/:ws/weekly-summary": ({ send, workspace }) =>
    send("//account", { action: "summary", workspace: workspace.id }),
  "GET /v1/workspaces/:ws/views": "/views",
  "POST /v1/workspaces/:ws/views": ({ send }) =>
    send("/explore?by=model", { action: "save" }, { name: "By model" }),
  "PATCH /v1/workspaces/:ws/views/:id": async (world) =>
    world.send("/views", { action: "change", id: (await firstOf(world, "views")).id }),
  "DELETE /v1/workspaces/:ws/views/:id": async (world) =>
    world.send("/views", { action: "delete", id: (await firstOf(world, "views")).id }),
  "POST /v1/workspaces/:ws/keys": ({ send }) => send("/keys", { action: "create" }),
  "GET /v1/workspaces/:ws/keys": "/keys",
  "DELETE /v1/workspaces/:ws/keys/:id": async (world) =>
    world.send("/keys", { action: "revoke", id: (await firstOf(world, "keys")).id }),
  "GET /v1/pairing/codes/:code": async (world) => world.open(`//connect?code=${await startPairing(world)}`),
  "POST /v1/pairing/approve": async (world) =>
    world.send(`//connect?code=${await startPairing(world)}`, {}, { decision: "approve" }),
  "POST /v1/pairing/deny": async (world) =>
    world.send(`//connect?code=${await startPairing(world)}`, {}, { decision: "deny" }),
  "DELETE /v1/workspaces/:ws": ({ send }) => send("/settings", { action: "delete" }, { name: "Work" }),
  "DELETE /v1/account": ({ send }) => send("//account", { action: "delete" }, { confirmation: "delete" }),
};

describeOnOneEngine("each route for people", (engine) => {
  let world: World;
  before(async () => {
    const rig = await createRig(engine, { config });
    const app = rig.app(config);
    const workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
    const owner = await rig.personIn(workspace, "organisationOwner", "Olga");
    await rig.addMember(workspace, owner.userId, "admin");
    const session = { session_id: SESSION, session_source: "stated", project: "apollo" };
    const requestId = await sendRequest(rig, workspace, session);
    await sendBody(rig, workspace, requestId, "Fix it.");
    const cookies = new Map([["session", owner.token]]);
    const ask = async (path: string, form: URLSearchParams | null = null): Promise<string> => {
      const cookie = [...cookies].map((each) => each.join("=")).join("; ");
      const init = { headers: { cookie, origin: BASE }, ...(form && { method: "POST", body: form }) };
      const answer = await app.request(path, init);
      for (const each of answer.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
        if (name !== "session") cookies.set(name, value);
      }
      // An account whose organisation has no other owner is not deleted.
      assert.ok(answer.status < 400 || answer.status === 409, `${path}: ${answer.status} ${form}`);
      return await answer.text();
    };
    // Paths of pages outside the workspace begin with two slashes.
    const pathOf = (path: string) => (path.startsWith("//") ? path.slice(1) : `/w/${workspace.id}${path}`);
    const open = (path: string) => ask(pathOf(path));
    world = {
      ...{ rig, workspace, owner, requestId, open },
      send: async (page, hidden, typed = {}) => {
        const { action, fields } = findForm(await open(page), hidden);
        for (const [name, value] of Object.entries(typed)) fields.set(name, value);
        return await ask(action, fields);
      },
    };
  });
  after(() => world?.rig.close());

  it("lists the page that reaches each route, or the reason why none does", () => {
    const routes = Object.entries(API_ROUTES).filter(([, { caller }]) => caller !== "key");
    assert.deepEqual(Object.keys(WAYS).sort(), routes.map(([name]) => name).sort());
  });

  for (const [name, way] of Object.entries(WAYS)) {
    if (typeof way === "object" && "none" in way) continue;
    it(`${name} is reached from a page`, async () => {
      if (typeof way === "object") {
        assert.match(await world.open(way.page), way.shows);
        return;
      }
      const { log } = world.rig;
      const from = log.length;
      const text = await (typeof way === "string" ? world.open(way) : way(world));
      const called = log
        .slice(from)
        .some(
          (each) =>
            each.event === "cloud.request_answered" &&
            `${each.method} ${each.route}` === name &&
            each.status !== 404,
        );
      assert.ok(called || (name.startsWith("GET ") && prints(String(text), name)), `${way}`);
    });
  }
});

/** Returns the form of a page that has these hidden fields: where it is sent, and what the page filled in. */
function findForm(page: string, hidden: Fields): { action: string; fields: URLSearchParams } {
  for (const [, head = "", body = ""] of page.matchAll(/<form ([^>]*method="post"[^>]*)>(.*?)<\/form>/gs)) {
    const fields = new URLSearchParams();
    for (const [, attributes = ""] of body.matchAll(/<input ([^>]*)>/g)) {
      const of = (name: string) => new RegExp(`(?:^| )${name}="([^"]*)"`).exec(attributes)?.[1];
      const isChoice = /checkbox|radio/.test(of("type") ?? "");
      if (!isChoice || / checked/.test(attributes))
        fields.set(of("name") ?? "", unescapeHtml(of("value") ?? ""));
    }
    for (const [, name = "", options = ""] of body.matchAll(
      /<select [^>]*name="([^"]*)"[^>]*>(.*?)<\/select>/gs,
    )) {
      const chosen = /value="([^"]*)" selected/.exec(options) ?? /value="([^"]*)"/.exec(options);
      fields.set(name, unescapeHtml(chosen?.[1] ?? ""));
    }
    const action = /action="([^"]*)"/.exec(head)?.[1] ?? "";
    const isIt = Object.entries(hidden).every(([name, value]) => fields.get(name) === value);
    if (isIt && (Object.keys(hidden).length > 0 || !/sign-out/.test(action))) return { action, fields };
  }
  throw new Error(`the page has no form with ${JSON.stringify(hidden)}`);
}

const unescapeHtml = (text: string): string =>
  text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");

/** Whether a page prints the address of a route as a command. */
function prints(page: string, name: string): boolean {
  const pattern = name.replace("GET ", "").replaceAll(/:\w+/g, "[^/?]+");
  return new RegExp(`data-copy="curl [^"]*${pattern}(?:\\?|&#39;)`).test(page);
}
