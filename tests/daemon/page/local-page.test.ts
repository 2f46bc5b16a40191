import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { reading } from "../../core/metering/limits/limits.rig.ts";
import { openApi } from "../api/api.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";

async function pageOf(
  fill: (store: Awaited<ReturnType<typeof openApi>>["store"]) => void,
  path = "/",
  change: Parameters<typeof openApi>[0] = {},
) {
  const rig = await openApi(change);
  try {
    fill(rig.store);
    const answer = await rig.ask(path);
    return { answer, text: await answer.text() };
  } finally {
    rig.close();
  }
}

describe("the local page", () => {
  it("tells projects apart whose folders share a name", async () => {
    const record = sampleRecord({ project: "api-acme", requestedAt: noon });
    const fill: Parameters<typeof pageOf>[0] = (store) => {
      store.records.insert([record]);
      const assign = (origin: string, slug: string) =>
        store.origins.assign({ name: "api", origin, folder: `/srv/${slug}`, slug }, []);
      assign("github.com/ann/api", "api");
      assign("github.com/acme/api<b>", "api-acme");
    };
    for (const path of ["/", `/requests/${record.requestId}`]) {
      const { text } = await pageOf(fill, path);
      assert.match(text, /github\.com\/acme\/api&lt;b&gt;/, path);
      assert.doesNotMatch(text, /ann\/api/);
    }
  });

  it("shows how to start before anything is metered", async () => {
    const { answer, text } = await pageOf(() => {});
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
    assert.match(text, /Nothing metered yet/);
    assert.match(text, /HTTPS_PROXY=http:\/\/127\.0\.0\.1:8081/);
    assert.match(text, /Not connected to a cloud/);
  });

  it("shows totals, groups, coverage gaps and problems", async () => {
    const { text } = await pageOf((store) => {
      store.insertBatch({
        records: [
          sampleRecord({ costPicoUsd: 2_500_000_000_000n, requestedAt: noon }),
          sampleRecord({
            costPicoUsd: null,
            costSource: "unpriced",
            model: "nobody-knows",
            requestedAt: noon,
          }),
        ],
        bodies: [],
        coverage: [
          { at: noon, host: "h", kind: "metered", count: 2 },
          { at: noon, host: "h", kind: "websocket", count: 2 },
        ],
      });
    });
    assert.match(text, /\$2\.50/);
    assert.match(text, /1 request has no known price; its cost is not included\./);
    assert.match(
      text,
      /The price list litellm covers anthropic\.[^<]*<\/p><pre tabindex="0">meter pricing pull --source litellm\nmeter recompute-costs<\/pre>/,
    );
    assert.match(text, /2 of 4 calls to providers were metered: 50%\./);
    assert.match(text, /Not metered: 2 WebSocket sessions/);
    assert.match(text, /2 records have been lost since the daemon started\./);
    assert.doesNotMatch(text, /Nothing metered yet/);
  });

  it("shows the limits of an hour or more, after saving the latest readings", async () => {
    let flushes = 0;
    const save = (window: string, windowMs: number) => ({
      reading: reading({ window, windowMs, usedPpm: 620_000, seenAt: noon, resetAt: noon + 86_400_000 }),
      isPoint: true,
    });
    const { text } = await pageOf(
      (store) => store.limits.save([save("5h", 18_000_000), save("1m", 60_000)]),
      "/",
      { limits: { flush: () => void (flushes += 1) } },
    );
    assert.match(text, /<h2 id="limits-title">Limits<\/h2>/);
    assert.match(text, /<bdi>5h<\/bdi>.*62 %/);
    assert.doesNotMatch(text, /<bdi>1m/);
    assert.equal(flushes, 1);
  });

  it("names each call that was not metered, and what to do, but at most ten of a kind", async () => {
    const unknown = (path: string, count: number, host = "api.acme.test") =>
      ({ at: noon, host, kind: "unknown_path", count, call: { method: "GET", path } }) as const;
    const { text } = await pageOf((store) =>
      store.coverage.add([
        { at: noon, host: "h", kind: "metered", count: 2 },
        unknown("/mcp-registry/v0/servers", 6),
        unknown("/<b>", 2, "<i>"),
        ...Array.from({ length: 10 }, (_, n) => unknown(`/v${n}/things`, 1)),
        { at: noon, host: "h", kind: "tunnelled_http2_only", count: 3 },
      ]),
    );
    const shown = text.slice(text.indexOf("Gaps in the metering"));
    assert.match(shown, /<h3 id="gaps-unknown_path">18 requests to unknown paths<\/h3>/);
    assert.match(
      shown,
      /<bdi>api\.acme\.test<\/bdi><\/td><th scope="row" class="name"><bdi>GET \/mcp-registry\/v0\/servers<\/bdi>.+<td class="number">6<\/td><td class="when wide"><time datetime="2026-05-12T/,
    );
    assert.match(
      shown,
      /<bdi>&lt;i&gt;<\/bdi><\/td><th scope="row" class="name"><bdi>GET \/&lt;b&gt;<\/bdi>/,
    );
    assert.match(shown, /2 more: <code>meter coverage<\/code>/);
    assert.match(
      shown,
      /<h3 id="gaps-tunnelled_http2_only">3 connections whose client speaks only HTTP\/2<\/h3>/,
    );
    assert.match(shown, /GODEBUG=http2client=0/);
    assert.doesNotMatch(shown, /<b>|<i>/);
  });

  it("names the programs that do not trust the certificate, with the fix for each", async () => {
    const rig = await openApi();
    const sample = rig.ports.status();
    rig.close();
    const program = {
      name: "agent.mjs",
      runtime: "node",
      host: "api.openai.com",
      rejected: 2,
      unused: 0,
      last_seen: new Date(noon).toISOString(),
    };
    const status = { ...sample, proxy: { ...sample.proxy, distrusting_programs: [program] } };
    for (const [file, named] of [
      ["/home/ann/.meter/ca/ca.pem", "/home/ann/.meter/ca/ca.pem"],
      [undefined, "&lt;meter_home&gt;/ca/ca.pem"],
    ] as const) {
      const change = { status: () => status, ...(file !== undefined && { authorityFile: file }) };
      const { text } = await pageOf(() => {}, "/", change);
      assert.match(text, /<th scope="row" class="name"><bdi>agent\.mjs<\/bdi><\/th>/);
      assert.match(
        text,
        /agent\.mjs \(node\) rejected the meter&#39;s certificate on 2 connections to api\.openai\.com/,
      );
      assert.ok(text.includes(`Set NODE_EXTRA_CA_CERTS to ${named} where it is started.`));
      assert.match(text, /<code>meter run -- &lt;command&gt;<\/code>/);
    }
  });

  it("shows no table of gaps if everything was metered", async () => {
    const { text } = await pageOf((store) =>
      store.coverage.add([{ at: noon, host: "h", kind: "metered", count: 2 }]),
    );
    assert.match(text, /Nothing was missed\./);
    assert.doesNotMatch(text, /Gaps in the metering/);
  });

  it("escapes every stored value", async () => {
    const evil = `"'><img src=x onerror=alert(1)><script>alert(2)</script>`;
    const record = sampleRecord({
      model: evil,
      project: evil,
      client: evil,
      provider: evil,
      path: evil,
      requestedModel: `${evil}2`,
      requestedAt: noon,
    });
    for (const path of ["/", `/requests/${record.requestId}`]) {
      const { answer, text } = await pageOf((store) => store.records.insert([record]), path);
      assert.equal(answer.status, 200);
      assert.ok(text.includes("&lt;img src=x"));
      assert.doesNotMatch(text, /<img|<script>|onerror=alert\(1\)>/);
    }
  });

  it("says on the page of a cut stream what happened", async () => {
    const cut = sampleRecord({
      errorClass: "network",
      retryable: false,
      tokensComplete: false,
      client: "<b>",
    });
    const { text } = await pageOf((store) => store.records.insert([cut]), `/requests/${cut.requestId}`);
    assert.match(
      text,
      /The client \(&lt;b&gt;\) closed the connection after 1\.2 s, before the response was complete\./,
    );
    assert.doesNotMatch(text, /The usage is incomplete/);
  });

  it("allows only its own stylesheet and script by its content security policy", async () => {
    const { answer, text } = await pageOf((store) => store.records.insert([sampleRecord()]));
    const policy = answer.headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.equal(answer.headers.get("cross-origin-opener-policy"), "same-origin");
    assert.doesNotMatch(text, / style="|<style| on[a-z]+="|https?:\/\/(?!127\.0\.0\.1:8081)/);
    for (const [path, type] of [
      ["/page.css", "text/css"],
      ["/page.js", "text/javascript"],
    ] as const) {
      const { answer: part } = await pageOf(() => {}, path);
      assert.ok(part.headers.get("content-type")?.startsWith(type));
      assert.equal(part.headers.get("cross-origin-resource-policy"), "same-origin");
    }
  });

  it("shows the cloud banner, offers at most a year, and returns 404 for an unknown request", async () => {
    const cloud = {
      routes: new (await import("hono")).Hono(),
      banner: async () => ({ banner: "PAUSED", sentence: "The key is invalid." }) as const,
    };
    const { text } = await pageOf(() => {}, "/?days=365", { cloud });
    assert.match(text, /Cloud sync is paused[\s\S]*The key is invalid\./);
    assert.match(text, /<a href="\/\?days=365" aria-current="page">/);
    assert.match((await pageOf(() => {}, "/?days=1e9")).text, /<a href="\/\?days=30" aria-current="page">/);
    const missing = await pageOf(() => {}, `/requests/${crypto.randomUUID()}`);
    assert.equal(missing.answer.status, 404);
    assert.match(missing.text, /There is no request with this ID/);
  });
});
