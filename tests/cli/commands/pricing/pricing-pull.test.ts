import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createCertificateAuthority } from "../../../simulation/certificate-authority.ts";
import { createEmptyHome, createSampleHome, runWords } from "../../run-command.rig.ts";

describe("meter pricing refresh", () => {
  const authorizations: unknown[] = [];
  let answer: { status: number; body: unknown } = { status: 200, body: null };
  let url = "";
  let close = () => {};
  let sample: Awaited<ReturnType<typeof createSampleHome>>;
  before(async () => {
    const authority = await createCertificateAuthority();
    const server = createServer(await authority.mintLeaf("localhost"), (request, response) => {
      authorizations.push(request.headers.authorization);
      response.writeHead(answer.status, { "content-type": "application/json", connection: "close" });
      response.end(JSON.stringify(answer.body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    close = () => server.close();
    url = `https://localhost:${(server.address() as AddressInfo).port}/rates.json`;
    sample = await createSampleHome();
    const caFile = join(sample.home, "extra.pem");
    writeFileSync(caFile, authority.certificatePem);
    writeFileSync(
      join(sample.home, "config.toml"),
      `[proxy]\nextra_ca = ${JSON.stringify(caFile)}\n[pricing]\npull_url = ${JSON.stringify(url)}\n`,
    );
  });
  after(() => {
    close();
    sample?.remove();
  });
  const refresh = () => runWords(sample.home, ["pricing", "refresh"]);
  const published = (input: string) => ({
    published_at: "2026-11-21T10:00:00.000Z",
    unit: "usd_per_million_tokens",
    rates: [
      {
        provider: "acme",
        model: "m",
        input,
        output: "2",
        cache_read: null,
        cache_write: null,
        effective_from: null,
      },
    ],
  });

  it("pulls once, without a token, and uses the rates from then on", async () => {
    answer = { status: 200, body: published("1") };
    assert.deepEqual(await refresh(), {
      code: 0,
      stdout: "Pulled 1 rate, published on 2026-11-21T10:00:00.000Z.\n",
      stderr: "",
    });
    assert.deepEqual(authorizations, [undefined]);
    const { stdout } = await runWords(sample.home, ["pricing", "list", "--provider", "acme"]);
    assert.match(stdout, /\nacme +m +1 +2 .* auto\n/);
  });

  it("rejects a whole pull if one price changes more than tenfold, and names it", async () => {
    answer = { status: 200, body: published("10.000001") };
    const { code, stdout, stderr } = await refresh();
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^meter: The pull was rejected; no rates changed:\n {2}acme m, input: /);
    assert.match(
      (await runWords(sample.home, ["pricing", "list", "--provider", "acme"])).stdout,
      /\nacme +m +1 +2 .* auto\n/,
    );
  });

  it("exits with 1 if the pull fails, and if there is no source", async () => {
    answer = { status: 503, body: null };
    const { code, stderr } = await refresh();
    assert.deepEqual([code, stderr], [1, "meter: The rates could not be pulled: HTTP 503.\n"]);
    const empty = createEmptyHome();
    const nowhere = await runWords(empty.home, ["pricing", "refresh"]);
    empty.remove();
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /^meter: There is no source to pull rates from\. /);
  });
});

describe("meter pricing auto-pull", () => {
  it("is off by default, and can be turned on and off", async () => {
    const { home, remove } = createEmptyHome("# mine\n[pricing] # prices\npull_interval = '12h'\n");
    const file = () => readFileSync(join(home, "config.toml"), "utf8");
    const status = async () =>
      JSON.parse((await runWords(home, ["pricing", "status", "--json"])).stdout).pull.auto_pull;
    try {
      assert.equal(await status(), false);
      for (const [word, value] of [
        ["on", true],
        ["off", false],
      ] as const) {
        const { code, stdout } = await runWords(home, ["pricing", "auto-pull", word]);
        assert.deepEqual([code, stdout], [0, `Auto-pull of rates is ${word}.\n`]);
        assert.equal(file(), `# mine\n[pricing] # prices\npull_interval = '12h'\nauto_pull = ${value}\n`);
        assert.equal(await status(), value);
      }
      assert.equal((await runWords(home, ["pricing", "auto-pull", "yes"])).code, 2);
      assert.equal(await status(), false);
    } finally {
      remove();
    }
  });
});
