import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { type CloudRig, createRig } from "./kit/cloud-rig.ts";
import { describeOnEngines } from "./kit/engines.ts";
import { API_ROWS, type Case, expectedStatus, type Row } from "./kit/matrix-rows.ts";
import {
  ACTORS,
  type ActorName,
  makeWorld,
  makeWorlds,
  TOKEN_KINDS,
  type World,
} from "./kit/matrix-world.ts";

/** Nobody is slowed down here. */
const config = {
  rateLimits: {
    perKey: 1e9,
    perUser: 1e9,
    signInPerAddress: 1e9,
    pairingPerAddress: 1e9,
    pollPerAddress: 1e9,
  },
};

/** Pages, which have no rules of their own: they ask the API, and their own tests say what they show. */
const PAGES =
  /^(?:GET \/pages\.css|GET \/|(?:GET|POST) \/(?:sign-in|sign-up|connect|invitation|forgot-password|reset-password)|POST \/(?:sign-out|sign-in\/provider|invitation\/accept)|GET \/w\/:ws|(?:GET|POST) \/w\/:ws\/subscribe)$/;

const ADMINS: readonly ActorName[] = ["workspaceAdmin", "organisationAdmin", "organisationOwner"];
const MEMBERS: readonly ActorName[] = [...ADMINS, "member", "author"];

function questions(world: World): readonly Case[] {
  return ACTORS.flatMap((actor) => {
    const tokens = actor === "nobody" ? [null] : TOKEN_KINDS;
    return tokens.map((token) => ({
      actor,
      token,
      world,
      reaches: MEMBERS.includes(actor) && !world.isDeleted,
      isAdmin: ADMINS.includes(actor),
    }));
  });
}

async function ask(rig: CloudRig, method: string, row: Row, question: Case): Promise<number> {
  const { actor, token, world } = question;
  const bearer = token === null ? null : (world.people[actor]?.tokens[token] ?? null);
  const { path, body } = await row.send(rig, world, question);
  return (await rig.call(method, path, bearer, body)).status;
}

describeOnEngines("the matrix of routes, people, tokens and plans", (engine) => {
  let rig: CloudRig;
  let worlds: readonly World[] = [];
  before(async () => {
    rig = await createRig(engine, { config });
    worlds = await makeWorlds(rig);
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
    it(`${route} answers everybody as its row says`, async () => {
      const [method = ""] = route.split(" ");
      const wrong: string[] = [];
      for (const world of worlds) {
        for (const question of questions(world)) {
          const expected = expectedStatus(row, question);
          const { actor } = question;
          // Who may do what can be done once, does it in a world of their own.
          const own =
            row.consumes === true && expected < 300 && actor !== "nobody"
              ? { ...question, world: await makeWorld(rig, world.plan, world.isDeleted, [actor]) }
              : question;
          const status = await ask(rig, method, row, own);
          if (status !== expected) {
            const where = world.isDeleted ? "a deleted workspace" : world.plan;
            wrong.push(`${actor} by ${question.token} on ${where}: ${status}, not ${expected}`);
          }
        }
      }
      assert.deepEqual(wrong, []);
    });
  }
});
