import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
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

describe("meter pricing with a public price list", () => {
  const LIST = (input: string) =>
    `{"m": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": ${input}, "output_cost_per_token": 2e-06,
      "input_cost_per_audio_token": 4e-05, "input_cost_per_token_flex": 5e-07, "output_cost_per_token_flex": 1e-06},
     "other/x": {"litellm_provider": "not-metered", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06}}`;
  let body = LIST("1e-06");
  let status = 200;
  let requests: string[] = [];
  let url = "";
  let close = () => {};
  let caFile = "";
  let folder: ReturnType<typeof createEmptyHome>;
  before(async () => {
    folder = createEmptyHome();
    const authority = await createCertificateAuthority();
    caFile = join(folder.home, "extra.pem");
    writeFileSync(caFile, authority.certificatePem);
    const server = createServer(await authority.mintLeaf("localhost"), (request, response) => {
      requests.push(`${request.url} ${request.headers.authorization ?? "no token"}`);
      const isKnown = request.headers["if-none-match"] === '"one"';
      response.writeHead(isKnown ? 304 : status, { etag: '"one"', connection: "close" });
      response.end(isKnown ? undefined : body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    close = () => server.close();
    url = `https://localhost:${(server.address() as AddressInfo).port}/litellm.json`;
  });
  after(() => {
    close();
    folder?.remove();
  });
  beforeEach(() => {
    body = LIST("1e-06");
    status = 200;
    requests = [];
  });
  /** A home whose `litellm` list is on the test's server. */
  const homeWith = (pricing = `source = "litellm"\npull_url = ${JSON.stringify(url)}`) =>
    createEmptyHome(`[proxy]\nextra_ca = ${JSON.stringify(caFile)}\n[pricing]\n${pricing}\n`);

  it("pulls it without a token, with its modalities and service tiers, and only once while it is the same", async () => {
    const { home, remove } = homeWith();
    try {
      const pulled = await runWords(home, ["pricing", "pull", "--source", "litellm"]);
      assert.deepEqual(pulled, {
        code: 0,
        stdout:
          "Pulled 1 rate from litellm: 1 new, 0 changed, 0 unchanged; 1 left out, of providers that are not metered.\n" +
          "Price stored requests with them: meter recompute-costs --dry-run\n",
        stderr: "",
      });
      const listed = await runWords(home, ["pricing", "list", "--json", "--provider", "openai", "m"]);
      const row = JSON.parse(listed.stdout).find(({ model }: { model: string }) => model === "m");
      assert.deepEqual([row.origin, row.source, row.input], ["litellm", "auto", 1_000_000]);
      assert.match(
        (await runWords(home, ["pricing", "list", "--provider", "openai"])).stdout,
        /\nopenai +m +1 +2 .* litellm\n/,
      );
      assert.equal((await runWords(home, ["pricing", "pull"])).stdout, "The rates have not changed.\n");
      assert.deepEqual(requests, Array(2).fill("/litellm.json no token"));
      const { sources } = JSON.parse((await runWords(home, ["pricing", "sources", "--json"])).stdout);
      const [selected] = sources.filter((source: { selected: boolean }) => source.selected);
      assert.deepEqual(
        [selected.name, selected.url, selected.rates, selected.age_days],
        ["litellm", url, 1, 0],
      );
    } finally {
      remove();
    }
  });

  it("shows what a pull would change, and stores nothing", async () => {
    const { home, remove } = homeWith();
    try {
      const { stdout } = await runWords(home, ["pricing", "diff"]);
      assert.equal(
        stdout,
        "litellm: 1 new, 0 changed, 0 unchanged; 1 left out, of providers that are not metered. Nothing was stored.\n" +
          "New, input and output:\n  openai m: 1, 2\n",
      );
      assert.match((await runWords(home, ["pricing", "sources"])).stdout, /\nlitellm \* +0 +never /);
    } finally {
      remove();
    }
  });

  it("holds back a price that moves too far, and applies the others", async () => {
    const { home, remove } = homeWith();
    try {
      await runWords(home, ["pricing", "import", url, "--format", "litellm"]);
      body = LIST("11e-06");
      const { stdout } = await runWords(home, ["pricing", "import", url, "--format", "litellm"]);
      assert.match(
        stdout,
        /; 1 held back; .*\nHeld back; the known rates stay:\n {2}openai m, input: would change by more than a factor of 10: 1 to 11\n/,
      );
      body = LIST("2e-06");
      const { stdout: diff } = await runWords(home, ["pricing", "diff"]);
      assert.match(diff, /\nChanged, in USD per million:\n {2}openai m, input: 1 to 2\n/);
    } finally {
      remove();
    }
  });

  it("imports a file, and refuses another format, an unknown source and a list that is not one", async () => {
    const { home, remove } = homeWith();
    const file = join(home, "list.json");
    writeFileSync(file, body);
    try {
      const imported = await runWords(home, ["pricing", "import", file, "--format", "litellm"]);
      assert.match(imported.stdout, /^Pulled 1 rate from litellm: 1 new,/);
      const shown = await runWords(home, ["pricing", "status"]);
      assert.match(shown.stdout, /\npulled {4}1 model, from litellm; last pull: never\n/);
      const wrong = await runWords(home, ["pricing", "import", file, "--format", "openrouter"]);
      assert.deepEqual(
        [wrong.code, wrong.stderr],
        [
          1,
          "meter: The price list was rejected: it is not in the format openrouter: an object with an array `data` is expected. No rates changed.\n",
        ],
      );
      const absent = await runWords(home, ["pricing", "import", `${file}x`, "--format", "litellm"]);
      assert.deepEqual(
        [absent.code, absent.stderr],
        [1, `meter: Could not read ${file}x: no such file or directory.\n`],
      );
      assert.equal((await runWords(home, ["pricing", "import", file, "--format", "csv"])).code, 2);
      assert.equal((await runWords(home, ["pricing", "pull", "--source", "acme"])).code, 2);
      assert.equal(
        (await runWords(home, ["pricing", "import", "http://localhost/x", "--format", "litellm"])).code,
        1,
      );
      status = 500;
      const failed = await runWords(home, ["pricing", "pull"]);
      assert.deepEqual(
        [failed.code, failed.stderr],
        [1, "meter: The rates could not be pulled: HTTP 500.\n"],
      );
    } finally {
      remove();
    }
  });

  it("is compared with the bundled rates", async () => {
    const { home, remove } = homeWith();
    const file = join(home, "list.json");
    try {
      const before = await runWords(home, ["pricing", "list", "--disputed"]);
      assert.match(
        before.stdout,
        /^No price list was pulled, .*\nPull one: meter pricing pull --source litellm\n$/,
      );
      const entry = { litellm_provider: "openai", input_cost_per_token: 2e-6, output_cost_per_token: 1e-5 };
      writeFileSync(file, JSON.stringify({ "gpt-5": entry }));
      await runWords(home, ["pricing", "import", file, "--format", "litellm"]);
      const { stdout } = await runWords(home, ["pricing", "list", "--disputed"]);
      assert.match(
        stdout,
        /^The sources disagree on 1 rate, .*:\n {2}openai gpt-5, input: bundled 1\.25, litellm 2\n/,
      );
      const none = await runWords(home, ["pricing", "list", "--disputed", "--provider", "acme"]);
      assert.equal(none.stdout, "The sources agree.\n");
      const { disputes } = JSON.parse(
        (await runWords(home, ["pricing", "list", "--disputed", "--json"])).stdout,
      );
      assert.equal(disputes.length, 1);
    } finally {
      remove();
    }
  });

  it("is saved as the source of regular pulls", async () => {
    const { home, remove } = homeWith("auto_pull = false");
    try {
      const { stdout } = await runWords(home, ["pricing", "auto-pull", "--source", "models.dev"]);
      assert.equal(stdout, "Auto-pull of rates is on, from models.dev.\n");
      const { pull } = JSON.parse((await runWords(home, ["pricing", "status", "--json"])).stdout);
      assert.deepEqual([pull.auto_pull, pull.source], [true, "models.dev"]);
      const missing = await runWords(home, ["pricing", "auto-pull"]);
      assert.equal(missing.code, 2);
      assert.match(missing.stderr, /^meter: The argument is missing\. Expected: on or off\.\n/);
      assert.equal((await runWords(home, ["pricing", "auto-pull", "--source", "acme"])).code, 2);
    } finally {
      remove();
    }
  });
});
