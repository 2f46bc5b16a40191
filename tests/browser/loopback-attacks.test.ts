import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import type { Browser, BrowserContext, Response } from "playwright-core";
import { tokenFile } from "../../cli/daemon/daemon-process.ts";
import { requestDaemon } from "../../cli/daemon/loopback-client.ts";
import { KIT_SCRIPT } from "../../pages/client-files.data.ts";
import { type MeterProcess, removeHome, startMeter, waitFor } from "../end-to-end/meter-process.rig.ts";
import { type Attacker, attacks, startAttacker } from "./attack-pages.rig.ts";
import {
  BROWSER_PATIENCE_MS,
  BROWSER_SUITE_TIMEOUT_MS,
  launchChromium,
  withoutChromium,
} from "./chromium.rig.ts";
import { createFilledHome, sampleMonths } from "./sample-home.rig.ts";
import { type ScriptedCloud, startScriptedCloud } from "./scripted-cloud.rig.ts";

/** Requests that change the state of the API, and a call that the proxy's gateway would relay to a provider. */
const CONNECT = "/v1/cloud/connect";
const GATEWAY = "/ollama/api/chat";

describe("web pages against the loopback API and the proxy, in Chromium", {
  skip: await withoutChromium(),
  timeout: BROWSER_SUITE_TIMEOUT_MS,
}, () => {
  let browser: Browser;
  let attacker: Attacker;
  let cloud: ScriptedCloud;
  let meter: MeterProcess;
  let api = "";
  let rows = 0;

  before(async () => {
    attacker = await startAttacker();
    cloud = await startScriptedCloud();
    const now = Date.now();
    const config = ["[proxy]", "port = 0", "[api]", "port = 0", "[cloud]", `base_url = "${cloud.origin}"`];
    const records = sampleMonths(now).slice(0, 20);
    rows = records.length;
    meter = await startMeter(await createFilledHome(config, records, now));
    api = `http://127.0.0.1:${meter.apiPort}`;
    // Every name resolves to this machine, as an attacker's own names can after DNS rebinding.
    browser = await launchChromium([
      "--host-resolver-rules=MAP *.test 127.0.0.1",
      "--disable-popup-blocking",
      // Chromium asks its user before a page may connect to this machine. Other browsers do not, and users agree.
      "--disable-features=LocalNetworkAccessChecks",
    ]);
  });
  after(async () => {
    await browser?.close();
    attacker?.close();
    cloud?.close();
    await meter?.stop();
    if (meter !== undefined) removeHome(meter.home);
  });

  /** Runs the work in its own browser and returns every response of the target. */
  async function answersOf(
    target: string,
    work: (context: BrowserContext) => Promise<void>,
  ): Promise<Response[]> {
    const context = await browser.newContext();
    context.setDefaultTimeout(BROWSER_PATIENCE_MS);
    const answers: Response[] = [];
    context.on("response", (answer) => {
      if (new URL(answer.url()).host === new URL(target).host) answers.push(answer);
    });
    try {
      await work(context);
    } finally {
      await context.close();
    }
    return answers;
  }

  /** Opens the page of an attack and returns what it could read once it has tried everything. */
  async function attackWith(
    number: number,
    target: string,
    path: string,
  ): Promise<{ stolen: string[]; answers: Response[] }> {
    const attack = attacks[number];
    let stolen: string[] = [];
    const answers = await answersOf(target, async (context) => {
      const page = await context.newPage();
      const isIt = (url: string, method: string) => url === `${target}${path}` && method === "POST";
      // A response that no page may embed ends as a failure.
      const reached = new Promise<Response | null>((resolve) => {
        context.on("response", (answer) => isIt(answer.url(), answer.request().method()) && resolve(answer));
        context.on("requestfailed", (failed) => isIt(failed.url(), failed.method()) && resolve(null));
      });
      await page.goto(
        `http://${attack?.host}:${attacker.port}/attack/${number}?${new URLSearchParams({ target, path })}`,
      );
      if (attack?.navigates === true) {
        const text = (await (await reached)?.text()) ?? "";
        assert.equal(new URL(page.url()).host, new URL(target).host);
        stolen = text.includes("ABCD-EFGH") ? [text] : [];
      } else {
        await page.waitForFunction("window.done === true");
        await reached;
        stolen = await page.evaluate("window.stolen.filter((text) => text !== '')");
      }
    });
    return { stolen, answers };
  }

  /** No pairing began, and the proxy relayed nothing. */
  async function assertUntouched() {
    assert.equal(cloud.pairings, 0, "the daemon asked the cloud for a code");
    const token = readFileSync(tokenFile(meter.home), "utf8").trim();
    const status = await requestDaemon(meter.apiPort, "/v1/cloud/connect/status", token);
    assert.equal((JSON.parse(status.body) as { status: string }).status, "idle");
    const { counters } = (await meter.status()).proxy;
    assert.deepEqual([counters.intercepted, counters.gateway, counters.absolute], [0, 0, 0]);
    assert.equal(counters.refused.upstream_unreachable, 0, "nor was anybody asked who is not there");
    assert.equal((await meter.rows()).length, rows);
  }

  // Seen to fail with a gateway that did not check a page's headers, with an API that accepted any origin, and
  // (rebinding) with one that accepted any host.
  for (const [number, { name }] of attacks.entries()) {
    it(`${name}: changes nothing and reads nothing, though it works elsewhere`, async () => {
      const before = attacker.believed;
      await attackWith(number, `http://victim.test:${attacker.port}`, CONNECT);
      assert.ok(attacker.believed > before, "the attack itself does not work");
      const proxy = `http://127.0.0.1:${meter.proxyPort}`;
      const targets = [
        [api, CONNECT],
        [`http://localhost:${meter.apiPort}`, CONNECT],
        [proxy, CONNECT],
        [proxy, GATEWAY],
      ] as const;
      for (const { stolen, answers } of await Promise.all(
        targets.map(([target, path]) => attackWith(number, target, path)),
      )) {
        assert.deepEqual(stolen, []);
        for (const answer of answers) {
          assert.ok(
            // The proxy's own refusal, not the result of a relayed call.
            answer.status() >= 400 && answer.status() < 500,
            `${answer.request().method()} ${answer.url()}: ${answer.status()}`,
          );
          assert.equal(answer.headers()["access-control-allow-origin"], undefined);
          assert.equal(answer.headers()["access-control-allow-private-network"], undefined);
        }
      }
      await assertUntouched();
    });
  }

  it("DNS rebinding: a name that now resolves to this machine is refused on every path", async () => {
    for (const port of [meter.apiPort, meter.proxyPort]) {
      const target = `http://rebind.test:${port}`;
      const answers = await answersOf(target, async (context) => {
        const page = await context.newPage();
        // The page was loaded from the attacker before the name changed.
        await page.route(`${target}/evil`, (route) =>
          route.fulfill({ contentType: "text/html", body: "<!doctype html><title>evil</title>" }),
        );
        await page.goto(`${target}/evil`);
        const read = await page.evaluate(
          `Promise.all(["/", "/health", "/v1/stats", "/v1/cloud/state", "/v1/requests", "/metrics", "${KIT_SCRIPT.path}"].map(async (path) => {
            const answer = await fetch(path);
            return [answer.status, (await answer.text()).length];
          }).concat(["/ollama/api/tags", "/openai/v1/models"].map(async (path) => {
            const answer = await fetch(path);
            return [answer.status, (await answer.text()).length];
          }), ["POST", "DELETE", "OPTIONS"].map(async (method) => {
            const headers = { "x-meter-request": "1", "content-type": "application/json" };
            const answer = await fetch("/v1/cloud/connect", { method, headers, ...(method === "POST" && { body: "{}" }) });
            return [answer.status, (await answer.text()).length];
          })))`,
        );
        for (const [status, length] of read as [number, number][]) {
          assert.ok(status === 403 || (status === 400 && port === meter.proxyPort), `${status}`);
          assert.ok(length < 300);
        }
        await page.goto(`${target}/`);
        assert.doesNotMatch((await page.textContent("body")) ?? "", /Latest requests/);
      });
      assert.ok(answers.some((answer) => answer.url().endsWith("/v1/cloud/connect")));
    }
    await assertUntouched();
  });

  it("a dashboard's script can read the state, but nothing that was metered", async () => {
    await answersOf(api, async (context) => {
      const page = await context.newPage();
      const seen = page.waitForEvent("response", (answer) => answer.url() === `${api}/v1/cloud/state`);
      await page.goto(`${cloud.origin}/`);
      const state = await page.evaluate(`fetch("${api}/v1/cloud/state").then((answer) => answer.json())`);
      const { hostname, ...rest } = state as { hostname: string };
      assert.equal(typeof hostname, "string");
      assert.deepEqual({ ...rest, version: "" }, { paired: false, version: "", port: meter.apiPort });
      const headers = (await seen).headers();
      assert.equal(headers["access-control-allow-origin"], cloud.origin);
      assert.equal(headers["access-control-allow-private-network"], "true");
      const refusals = await page.evaluate(
        `Promise.all([
          ["/v1/stats"], ["/v1/requests"], ["/v1/events"], ["/metrics"], ["/v1/status"], ["/"],
          ["/v1/cloud/connect", { method: "POST" }],
          ["/v1/cloud/connect", { method: "POST", headers: { "x-meter-request": "0" } }],
        ].map(([path, how]) => fetch("${api}" + path, how).then((answer) => path + " " + answer.status, () => "refused")))`,
      );
      assert.deepEqual(new Set(refusals as string[]), new Set(["refused"]));
    });
    await assertUntouched();
  });

  it("the gateway serves a program on this machine, but no page", async () => {
    const answer = await fetch(`http://127.0.0.1:${meter.proxyPort}${GATEWAY}`, {
      method: "POST",
      body: "{}",
    });
    await answer.arrayBuffer();
    // The proxy's thread posts its counters at intervals.
    const counted = async () => (await meter.status()).proxy.counters.gateway === 1;
    assert.ok(await waitFor("the call in the counters", counted));
  });

  // This attack runs last, since its code stays valid.
  it("a dashboard's script gets a code with the header, and its other options are ignored", async () => {
    await answersOf(api, async (context) => {
      const page = await context.newPage();
      await page.goto(`${cloud.origin}/`);
      const answer = await page.evaluate(
        `fetch("${api}/v1/cloud/connect", {
          method: "POST",
          headers: { "x-meter-request": "1", "content-type": "application/json" },
          body: JSON.stringify({ force: true, base_url: "http://evil.test:${attacker.port}" }),
        }).then((answer) => answer.json())`,
      );
      assert.equal((answer as { code: string }).code, "ABCD-EFGH");
      assert.equal(cloud.pairings, 1);
    });
  });
});
