import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createCloudService } from "../../../daemon/cloud/create-cloud-service.ts";
import { nextPullAt, readPullHistory } from "../../../daemon/cloud/pull-state.ts";
import { createCertificateAuthority } from "../../simulation/certificate-authority.ts";
import { createMachine, type Machine, TOKEN, until } from "./cloud.rig.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const HOUR = 3_600_000;

interface Asked {
  path: string;
  authorization: string | undefined;
  etag: string | undefined;
}

const rate = (model: string, input: string, given: Record<string, unknown> = {}) => ({
  provider: "acme",
  model,
  input,
  output: "2",
  cache_read: null,
  cache_write: null,
  effective_from: null,
  ...given,
});
const published = (...rates: unknown[]) => ({
  published_at: "2026-11-21T10:00:00.000Z",
  unit: "usd_per_million_tokens",
  rates,
});

describe("the pull of rates", () => {
  const asked: Asked[] = [];
  let answer: { status: number; body?: unknown; etag?: string };
  let url: string;
  let roots: string[];
  let close: () => void;
  let machine: Machine;
  let clock: ReturnType<typeof createManualClock>;

  before(async () => {
    const authority = await createCertificateAuthority();
    roots = [authority.certificatePem];
    const server = createServer(await authority.mintLeaf("localhost"), (request, response) => {
      const { authorization, "if-none-match": etag } = request.headers;
      asked.push({ path: request.url ?? "", authorization, etag });
      const isKnown = answer.etag !== undefined && etag === answer.etag;
      response.writeHead(
        isKnown ? 304 : answer.status,
        answer.etag === undefined ? {} : { etag: answer.etag },
      );
      response.end(isKnown || answer.body === undefined ? undefined : JSON.stringify(answer.body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `https://localhost:${(server.address() as AddressInfo).port}`;
    close = () => {
      server.close();
      server.closeAllConnections();
    };
  });
  after(() => close());
  beforeEach(async () => {
    asked.length = 0;
    answer = { status: 200, body: published(rate("m", "1")), etag: '"one"' };
    clock = createManualClock(NOW);
    machine = await createMachine(url, { roots, clock });
  });
  afterEach(() => machine.close());

  it("gets rates from the cloud with the token, and not again while nothing has changed", async () => {
    let changed = 0;
    const service = createCloudService({ ...machine.ports, ratesChanged: () => (changed += 1) });
    const { kind } = await service.refreshRates();
    assert.equal(kind, "updated");
    const [row] = machine.store.rates.read();
    assert.deepEqual([row?.source, row?.provenanceDate, row?.rates.input], ["auto", "2026-11-21", 1_000_000]);
    assert.deepEqual(await service.refreshRates(), { kind: "not_modified", from: "cloud" });
    assert.deepEqual(asked, [
      { path: "/v1/pricing/rates", authorization: `Bearer ${TOKEN}`, etag: undefined },
      { path: "/v1/pricing/rates", authorization: `Bearer ${TOKEN}`, etag: '"one"' },
    ]);
    assert.equal(changed, 1);
  });

  it("gets rates from pull_url without a token", async () => {
    machine.config.pricing = { pull_url: `${url}/public.json` };
    const result = await machine.service.refreshRates();
    assert.deepEqual([result.kind, "from" in result && result.from], ["updated", "pull_url"]);
    assert.deepEqual(asked, [{ path: "/public.json", authorization: undefined, etag: undefined }]);
  });

  it("sends nothing if the URL is not https, or if nothing is configured", async () => {
    const plain = await createMachine("http://127.0.0.1:9", { clock });
    try {
      assert.deepEqual(await plain.service.refreshRates(), { kind: "not_https" });
      assert.deepEqual(
        plain.logged.filter(({ event }) => event === "pricing.pull_failed").map(({ fields }) => fields),
        [{ reason: "not_https", http_status: null }],
      );
      await plain.ports.credentials.clear();
      assert.deepEqual(await plain.service.refreshRates(), { kind: "not_configured" });
      // Dropped from the configuration, with a warning there.
      plain.config.pricing = { pull_url: "http://127.0.0.1:9/rates" };
      assert.deepEqual(await plain.service.refreshRates(), { kind: "not_configured" });
    } finally {
      await plain.close();
    }
  });

  it("takes all rates or none: a rejected pull changes no row", async () => {
    await machine.service.refreshRates();
    const kept = machine.store.rates.read();
    const bad: unknown[] = [
      published(rate("m", "11"), rate("n", "1")),
      published(rate("m", "0")),
      published(rate("m", "1"), rate("n", "1000.5")),
      published(rate("m", "1"), rate("m", "1")),
      published(rate("m", "-1")),
      { ...published(rate("m", "1")), unit: "eur" },
      { ...published(rate("m", "1")), published_at: "2027-11-21T00:00:00Z" },
    ];
    for (const body of bad) {
      answer = { status: 200, body };
      const result = await machine.service.refreshRates();
      assert.equal(result.kind, "invalid", JSON.stringify(body));
      assert.deepEqual(machine.store.rates.read(), kept);
    }
    assert.equal(machine.logged.filter(({ event }) => event === "pricing.pull_invalid").length, bad.length);
  });

  it("counts every other response as a failure and changes nothing", async () => {
    for (const given of [{ status: 500 }, { status: 401 }, { status: 302 }, { status: 200, body: "hello" }]) {
      answer = given;
      assert.equal((await machine.service.refreshRates()).kind, "failed");
    }
    assert.deepEqual(machine.store.rates.read(), []);
    assert.deepEqual(
      machine.logged
        .filter(({ event }) => event === "pricing.pull_failed")
        .map(({ fields }) => fields.reason),
      ["http_500", "http_401", "http_302"],
    );
    assert.deepEqual(
      machine.logged
        .filter(({ event }) => event === "pricing.pull_invalid")
        .map(({ fields }) => fields.reason),
      ["invalid_answer"],
    );
  });

  it("stores why the last pull failed until one succeeds, and retries after an hour", async () => {
    const failures: (string | undefined)[] = [];
    const given = [
      { status: 503 },
      { status: 200, body: published(rate("m", "1001"), rate("n", "-1")) },
      { status: 200, body: published(rate("m", "1")), etag: '"one"' },
      { status: 500 },
    ];
    for (answer of given) {
      clock.advance(1);
      await machine.service.refreshRates();
      const { failure } = readPullHistory(machine.store.notes);
      if (failure !== null) assert.equal(failure.at, clock.now());
      failures.push(failure?.error);
    }
    assert.match(failures[1] ?? "", /^rejected: acme m, input: .+, and 1 more$/);
    assert.deepEqual([failures[0], failures[2], failures[3]], ["HTTP 503", undefined, "HTTP 500"]);
    const history = readPullHistory(machine.store.notes);
    assert.equal(history.pulledAt, clock.now() - 1);
    assert.equal(nextPullAt(history, 6 * HOUR), clock.now() + HOUR);
    assert.equal(nextPullAt({ ...history, failure: null }, 6 * HOUR), clock.now() - 1 + 6 * HOUR);
    // A pull of unchanged rates counts as a success.
    answer = { status: 200, etag: '"one"' };
    await machine.service.refreshRates();
    assert.equal(readPullHistory(machine.store.notes).failure, null);
  });

  const pulls = () => asked.filter(({ path }) => !path.startsWith("/v1/daemon/")).length;

  it("continues if the configuration could not be read after a pull", async () => {
    machine.config.pricing = { auto_pull: true };
    const { settings } = machine.ports;
    let isBroken = false;
    const service = createCloudService({
      ...machine.ports,
      settings: () => (isBroken ? Promise.reject(new Error("no TOML")) : settings()),
      ratesChanged: () => {
        isBroken = true;
      },
    });
    try {
      await service.start();
      clock.advance(1);
      await until("the first pull", () => isBroken);
      await until("the next look", () => clock.nextTimerMs() !== null);
      isBroken = false;
      // Only the worker's own timer runs; the log shows what it did.
      await until("the second pull", () => {
        clock.advance(HOUR);
        return pulls() === 2;
      });
    } finally {
      await service.stop();
    }
  });

  it("pulls at its interval while auto_pull is on, at least an hour apart, and an hour after a failure", async () => {
    machine.config.pricing = { auto_pull: true, pull_interval: "2h" };
    await machine.service.start();
    // Time advances in small steps, so that the other timers of the service do not matter.
    clock.advance(1);
    await until("the first pull", () => pulls() === 1);
    await until("it to be kept", () => machine.store.notes.read("rates_pulled_at") !== null);
    answer = { status: 500 };
    await turnOf(2 * HOUR - 2_000);
    assert.equal(pulls(), 1);
    await turnOf(4_000);
    await until("the second pull", () => pulls() === 2);
    await until("its failure", () => machine.logged.some(({ event }) => event === "pricing.pull_failed"));
    await turnOf(HOUR + 4_000);
    await until("the third pull", () => pulls() === 3);

    async function turnOf(ms: number): Promise<void> {
      // The request must set its timer first.
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setTimeout(resolve, 20));
      clock.advance(ms);
    }
  });
});
