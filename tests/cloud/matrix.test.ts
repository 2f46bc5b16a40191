import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { type CloudRig, createRig } from "./kit/cloud-rig.ts";
import { describeOnOneEngine } from "./kit/engines.ts";
import { API_ROWS, type Case, expectedStatus, type Row } from "./kit/matrix-rows.ts";
import {
  ACTORS,
  type ActorName,
  makeWorld,
  makeWorlds,
  STRAY_TOKENS,
  TOKEN_KINDS,
  type TokenKind,
  type World,
} from "./kit/matrix-world.ts";

/** So high that no request is limited. */
const config = {
  rateLimits: {
    perKey: 1e9,
    perUser: 1e9,
    signInPerAddress: 1e9,
    pairingPerAddress: 1e9,
    pollPerAddress: 1e9,
  },
};

/** Pages have no rules of their own: they call the API. Their own tests check what they show. */
const PAGES =
  /^(?:GET \/assets\/[\w.]+|GET \/|(?:GET|POST) \/(?:sign-in|sign-up|account|unsubscribe|organisations\/:org|connect|invitation|forgot-password|reset-password)|POST \/(?:sign-out|sign-in\/provider|invitation\/accept)|(?:GET|POST) \/w\/:ws(?:\/:?[a-z-]+)*)\/?$/;

/** The number of simultaneous requests. */
const AT_ONCE = 6;

const ADMINS: readonly ActorName[] = ["workspaceAdmin", "organisationAdmin", "organisationOwner"];
const MEMBERS: readonly ActorName[] = [...ADMINS, "member", "author"];

function questions(world: World): readonly Case[] {
  return ACTORS.flatMap((actor) => {
    const tokens: readonly (TokenKind | null)[] =
      actor === "nobody" ? [null, "wrong", "invitation"] : TOKEN_KINDS;
    return tokens.map((token) => ({
      actor,
      token,
      world,
      reaches: MEMBERS.includes(actor) && !world.isDeleted,
      isAdmin: ADMINS.includes(actor),
    }));
  });
}

function bearerOf({ actor, token, world }: Case): string | null {
  if (token === null) return null;
  if (token === "wrong" || token === "invitation") return STRAY_TOKENS[token];
  return world.people[actor]?.tokens[token] ?? null;
}

async function ask(rig: CloudRig, method: string, row: Row, question: Case): Promise<number> {
  const { world } = question;
  const { path, body } = await row.send(rig, world, question);
  return (await rig.call(method, path, bearerOf(question), body)).status;
}

describeOnOneEngine("the matrix of routes, people, tokens and plans", (engine) => {
  let rig: CloudRig;
  let worlds: readonly World[] = [];
  before(async () => {
    rig = await createRig(engine, { config });
    // The engine and the runtime do not affect plans. So PostgreSQL on Node tests all plans, the others the lowest and the highest.
    const allPlans = engine.name === "postgres15" && !("Deno" in globalThis);
    worlds = await makeWorlds(rig, allPlans ? undefined : ["solo", "enterprise"]);
  });
  after(() => rig.close());

  it("has a row for every route, and no row without a route", () => {
    const routes = rig
      .app()
      .routes.filter(({ method }) => method !== "ALL")
      .map(({ method, path }) => `${method} ${path}`)
      .filter((route) => !PAGES.test(route));
    assert.deepEqual([...new Set(routes)].sort(), Object.keys(API_ROWS).sort());
  });

  for (const [route, row] of Object.entries(API_ROWS)) {
    it(`${route} answers every caller as its row states`, async () => {
      const [method = ""] = route.split(" ");
      const wrong: string[] = [];
      const waiting = worlds.flatMap(questions);
      const askNext = async () => {
        for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
          const expected = expectedStatus(row, next);
          const { actor, token, world } = next;
          // A caller who is allowed to do something that works only once has their own world.
          const own =
            row.consumes === true && expected < 300 && actor !== "nobody"
              ? { ...next, world: await makeWorld(rig, world.plan, world.isDeleted, [actor]) }
              : next;
          const status = await ask(rig, method, row, own);
          if (status !== expected) {
            const where = world.isDeleted ? "a deleted workspace" : world.plan;
            wrong.push(`${actor} by ${token} on ${where}: ${status}, not ${expected}`);
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, askNext));
      assert.deepEqual(wrong, []);
    });
  }
});
