import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { sql } from "kysely";
import { API_ROUTES } from "../../../../cloud/api/api-routes.ts";
import { type CloudRig, createRig, json } from "../../kit/cloud-rig.ts";
import { describeOnOneEngine } from "../../kit/engines.ts";
import { API_ROWS, type Sent } from "../../kit/matrix-rows.ts";
import { ACTORS, makeWorld, type World } from "../../kit/matrix-world.ts";

const BASE = "https://cloud.meter.example";
const config = {
  baseUrl: BASE,
  rateLimits: { perKey: 1e9, perUser: 1e9, pairingPerAddress: 1e9, signInPerAddress: 1e9 },
};

/** The headers of requests that did not come from our pages. No browser sends the last two; they are refused too. */
const FOREIGN: readonly Readonly<Record<string, string>>[] = [
  {},
  { origin: "null" },
  { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
  { origin: `${BASE}.evil.example`, "sec-fetch-site": "cross-site" },
  { origin: "http://cloud.meter.example", "sec-fetch-site": "cross-site" },
  { origin: `${BASE}:8443`, "sec-fetch-site": "same-site" },
  { origin: "https://other.meter.example", "sec-fetch-site": "same-site" },
  { origin: BASE.toUpperCase() },
  { origin: BASE, "sec-fetch-site": "cross-site" },
  { origin: BASE, "sec-fetch-site": "same-site" },
];

const ROUTES = Object.entries(API_ROUTES).filter(
  ([, { caller }]) => caller === "person" || caller === "session",
);
const changes = (route: string) => !route.startsWith("GET ");

/** Payloads that would change something, where the matrix sends none. */
const EFFECTIVE: Readonly<Record<string, (rig: CloudRig, world: World) => Promise<Sent>>> = {
  "POST /v1/organisations": async () => ({ path: "/v1/organisations", body: { name: "Another" } }),
  "POST /v1/consent/checkout": async (rig) => {
    const { wording_hash } = await json(rig.call("GET", "/v1/consent/checkout", null));
    const body = { plan: "team", period: "annual", wording_hash, agreed_terms: true, agreed_immediate: true };
    return { path: "/v1/consent/checkout", body };
  },
  "POST /v1/invitations/accept": async (rig, { workspace, people }) => {
    const owner = people.organisationOwner;
    const person = (await rig.accounts.getPeople([owner?.userId ?? ""])).get(owner?.userId ?? "");
    const path = `/v1/workspaces/${workspace.id}/invitations`;
    const { link } = await json(
      rig.call("POST", path, owner?.tokens.session ?? null, { email: person?.email }),
    );
    return { path: "/v1/invitations/accept", body: { token: link.split("#")[1] } };
  },
};

describeOnOneEngine("a page of another site, with somebody's cookie", (engine) => {
  let rig: CloudRig;
  before(async () => {
    rig = await createRig(engine, { config });
  });
  after(() => rig.close());

  /** Every row of every table, as one hash each. One statement reads them all: it runs twice for each route. */
  const snapshot = async (): Promise<Record<string, string>> => {
    const { rows } = await sql.raw<{ name: string; hash: string }>(await hashes()).execute(rig.db);
    return Object.fromEntries(rows.map(({ name, hash }) => [name, hash]));
  };
  let statement: string | null = null;
  const hashes = async (): Promise<string> => {
    if (statement !== null) return statement;
    const { rows } = await sql<{
      name: string;
    }>`select quote_ident(schemaname) || '.' || quote_ident(tablename) as name
      from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`.execute(rig.db);
    assert.ok(rows.length > 20);
    statement = rows
      .map(
        ({ name }) =>
          `select '${name}' as name, coalesce(md5(string_agg(t::text, chr(10) order by t::text)), '') as hash from ${name} t`,
      )
      .join(" union all ");
    return statement;
  };
  const send = async (method: string, { path, body }: Sent, world: World, headers: Record<string, string>) =>
    await rig.main(method, path, body, {
      cookie: `session=${world.people.organisationOwner?.tokens.session}`,
      ...headers,
    });
  const sentFor = async (route: string, world: World): Promise<Sent> => {
    const own = EFFECTIVE[route];
    if (own !== undefined) return await own(rig, world);
    const row = API_ROWS[route];
    assert.ok(row !== undefined, `${route} has no row`);
    const question = {
      actor: "organisationOwner",
      token: "session",
      world,
      reaches: true,
      isAdmin: true,
    } as const;
    return await row.send(rig, world, question);
  };

  it("finds every route that takes a person in the table", () => {
    assert.ok(ROUTES.filter(([route]) => changes(route)).length >= 20);
    for (const route of Object.keys(EFFECTIVE)) assert.ok(route in API_ROUTES, route);
  });

  for (const [route, { answers }] of ROUTES.filter(([name]) => changes(name))) {
    it(`changes nothing by ${route}, which the same request from our own page does`, async () => {
      // The only owner of an organisation with other members can't leave it.
      const alone = route === "DELETE /v1/account";
      const world = await makeWorld(rig, "enterprise", false, alone ? ["organisationOwner"] : ACTORS);
      const [method = ""] = route.split(" ");
      const sent = await sentFor(route, world);
      const before = await snapshot();
      for (const headers of FOREIGN) {
        const answer = await send(method, sent, world, headers);
        assert.equal(answer.status, 403, JSON.stringify(headers));
        assert.equal((await json(answer)).code, "origin_refused");
      }
      assert.deepEqual(await snapshot(), before);
      // Planted: without the origin check in authenticatePerson(), each of these routes failed above.
      const own = await send(method, sent, world, { origin: BASE, "sec-fetch-site": "same-origin" });
      assert.ok(String(own.status) in answers, `${own.status} ${await own.text()}`);
    });
  }

  it("reads nothing through a link either, and so records no view in the ledger", async () => {
    const world = await makeWorld(rig, "enterprise", false);
    const before = await snapshot();
    for (const [route] of ROUTES.filter(([name]) => !changes(name))) {
      const sent = await sentFor(route, world);
      if (route.includes("/pairing/")) continue;
      for (const site of ["cross-site", "same-site"]) {
        const answer = await send("GET", sent, world, {
          "sec-fetch-site": site,
          "sec-fetch-mode": "navigate",
        });
        assert.equal(answer.status, 403, route);
      }
    }
    assert.deepEqual(
      { ...(await snapshot()), "public.pairing_sessions": "" },
      { ...before, "public.pairing_sessions": "" },
    );
    const body = { path: `/v1/traces/${world.requestId}/body?reason=seen` };
    for (const site of ["same-origin", "none"])
      assert.equal((await send("GET", body, world, { "sec-fetch-site": site })).status, 200);
    assert.notDeepEqual(await snapshot(), before);
  });
});
