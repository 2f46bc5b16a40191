import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { systemClock } from "../../../adapters/clock/system-clock.ts";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { openPostgres } from "../../../adapters/postgres/postgres-server.ts";
import { type OperationsParts, withOperations } from "../../../cloud/http/operations.ts";
import { openCloudDatabase } from "../../../cloud/store/open-database.ts";
import { describeOnOneEngine } from "../kit/engines.ts";

const app = { fetch: () => new Response("the cloud's") };

function parts(db: OperationsParts["db"], more: Partial<OperationsParts> = {}): OperationsParts {
  return {
    db,
    clock: createManualClock(0),
    sha256,
    metrics: { mediaType: "text/plain", text: () => "a_metric 1\n" },
    metricsToken: null,
    trustedHops: 0,
    peerAddress: (env) => (env as { peer: string | null }).peer,
    ...more,
  };
}

/** A database that no test connects to. */
const nothing = openCloudDatabase(openPostgres("postgres://127.0.0.1:1/nothing", systemClock));

const ask = async (
  operations: { fetch(request: Request, env: unknown): Response | Promise<Response> },
  path: string,
  { peer = "127.0.0.1", ...init }: RequestInit & { peer?: string | null } = {},
) => await operations.fetch(new Request(`http://meter.test${path}`, init), { peer });

describe("withOperations()", () => {
  it("passes all other requests to the cloud, whatever the method", async () => {
    const operations = withOperations(app, parts(nothing));
    for (const [path, method] of [
      ["/", "GET"],
      ["/metrics/", "GET"],
      ["/healthz", "POST"],
      ["/metrics", "DELETE"],
    ]) {
      assert.equal(
        await (await ask(operations, path as string, { method: method as string })).text(),
        "the cloud's",
      );
    }
  });

  it("answers /healthz without querying the database", async () => {
    const answer = await ask(withOperations(app, parts(nothing)), "/healthz");
    assert.deepEqual([answer.status, await answer.json()], [200, { status: "ok" }]);
  });

  it("shows the metrics only to programs on this machine; others get 404", async () => {
    const own = withOperations(app, parts(nothing));
    const hopped = withOperations(app, parts(nothing, { trustedHops: 1 }));
    const forwarded = { headers: { "x-forwarded-for": "127.0.0.1" } };
    for (const peer of ["127.0.0.1", "127.8.0.1", "::1"]) {
      assert.equal(await (await ask(own, "/metrics", { peer })).text(), "a_metric 1\n");
    }
    for (const [operations, options] of [
      [own, { peer: "10.0.0.1" }],
      [own, { peer: null }],
      [own, { peer: "127.0.0.1.evil.test" }],
      [own, forwarded],
      [own, { headers: { forwarded: "for=127.0.0.1" } }],
      [hopped, {}],
    ] as const) {
      assert.equal((await ask(operations, "/metrics", options)).status, 404);
    }
  });

  it("shows the metrics only for the token if one is set", async () => {
    const token = "t".repeat(40);
    const operations = withOperations(app, parts(nothing, { metricsToken: token, trustedHops: 1 }));
    const status = async (authorization: string) =>
      (await ask(operations, "/metrics", { peer: "10.0.0.1", headers: { authorization } })).status;
    assert.equal(await status(`Bearer ${token}`), 200);
    assert.equal(await status(`bearer  ${token}`), 200);
    for (const wrong of ["", "Bearer", "Bearer ", `Basic ${token}`, `Bearer ${token}x`]) {
      assert.equal(await status(wrong), 404, wrong);
    }
    assert.equal((await ask(operations, "/metrics")).status, 404);
  });
});

describeOnOneEngine("/readyz", (engine) => {
  it("is not ready while the database does not answer", async () => {
    const { db: stuck, close } = await engine.open({ maxConnections: 1 });
    const clock = createManualClock(0);
    const [taken, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held = stuck.connection().execute(() => {
      taken.resolve();
      return released.promise;
    });
    await taken.promise;
    const asked = ask(withOperations(app, parts(stuck, { clock })), "/readyz");
    clock.advance(3_000);
    const answer = await asked;
    assert.deepEqual(
      [answer.status, answer.headers.get("retry-after"), await answer.json()],
      [503, "5", { status: "database_unreachable" }],
    );
    released.resolve();
    await held;
    await close();
  });

  it("is not ready before the migration, nor while it drains", async () => {
    const empty = await engine.openEmpty();
    const operations = withOperations(app, parts(empty.db));
    assert.deepEqual(await (await ask(operations, "/readyz")).json(), { status: "not_migrated" });
    operations.drain();
    assert.deepEqual(await (await ask(operations, "/readyz")).json(), { status: "draining" });
    await empty.close();
  });

  it("is ready on a migrated database, and queries it once for many requests", async () => {
    const test = await engine.open();
    const clock = createManualClock(0);
    const operations = withOperations(app, parts(test.db, { clock }));
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(operations, "/readyz")));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    await test.db.destroy();
    assert.equal((await ask(operations, "/readyz")).status, 200, "an answer serves for a second");
    clock.advance(1_000);
    assert.equal((await ask(operations, "/readyz")).status, 503, "and no longer");
  });
});
