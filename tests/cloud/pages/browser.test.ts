import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { createBetterAuthAccounts } from "../../../adapters/accounts/create-accounts.ts";
import { createManualClock } from "../../../adapters/clock/manual-clock.ts";
import { createRandomBytes, sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { createSignUpPolicy } from "../../../cloud/accounts/sign-up-policy.ts";
import { withoutChromium } from "../../browser/chromium.rig.ts";
import { batch, type CloudRig, json, record, START } from "../kit/cloud-rig.ts";
import { type CloudBrowser, startCloudBrowser } from "./cloud-browser.rig.ts";
import { look } from "./look-at-page.rig.ts";

const DAY_MS = 86_400_000;

/** Generous, because the machine may be busy. */
const SLOW_MS = 60_000;

describe("the pages in a browser, without scripts", { skip: await withoutChromium() }, () => {
  let cloud: CloudBrowser;
  let rig: CloudRig;
  let page: Page;
  let baseUrl: string;
  const complaints: string[] = [];

  before(async () => {
    const randomBytes = createRandomBytes();
    cloud = await startCloudBrowser((baseUrl) => ({
      accounts: ({ db }) =>
        createBetterAuthAccounts(db, {
          baseUrl,
          secret: "d2hhdGV2ZXIgbm9ib2R5IGVsc2UgY2FuIGd1ZXNz",
          mail: async () => {},
          newId: () => crypto.randomUUID(),
          policy: createSignUpPolicy(
            { db, clock: createManualClock(START), randomBytes, sha256 },
            { openSignUp: false },
          ),
        }),
    }));
    ({ rig, baseUrl } = cloud);
    page = await cloud.browser.newPage({ javaScriptEnabled: false, viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(SLOW_MS);
    page.on("console", (message) => complaints.push(message.text()));
  });
  after(async () => {
    await cloud?.close();
  });

  it("sign up, connect a machine, show its usage, subscribe, sign out and in", {
    timeout: 4 * SLOW_MS,
  }, async () => {
    const machine = { hostname: "anns-laptop", platform: "linux", daemon_version: "0.4.0" };
    const ticket = await json(rig.call("POST", "/v1/pairing/start", null, machine));

    await page.goto(`${baseUrl}/connect?code=${ticket.code}`);
    assert.equal(new URL(page.url()).pathname, "/sign-in");
    await look(page, "sign-in");
    await page.getByRole("link", { name: "Create an account" }).click();
    await page.getByLabel("Name").fill("Ann O'Hara");
    await page.getByLabel("Email").fill("ann@example.com");
    await page.getByLabel("Password").fill("x".repeat(200));
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    assert.equal(await page.getByLabel("Name").inputValue(), "Ann O'Hara");
    assert.equal(await page.getByLabel("Password").inputValue(), "");
    await look(page, "sign-up-refused");
    // The browser itself refuses a password that is too short.
    await page.getByLabel("Password").fill("short");
    await page.keyboard.press("Enter");
    assert.equal(await page.getByLabel("Password").inputValue(), "short");
    await page.getByLabel("Password").fill("correct horse battery staple");
    await page.keyboard.press("Enter");

    await page.getByText("anns-laptop").waitFor();
    await look(page, "connect");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("status").waitFor();
    await look(page, "approved");
    const key = await json(rig.call("POST", "/v1/pairing/poll", null, { poll_token: ticket.poll_token }));
    assert.equal(key.status, "approved");
    await page.getByRole("link", { name: /^Go to / }).click();
    await page.getByText("Nothing metered yet").waitFor();
    await look(page, "empty");

    const models = ["gpt-4o", "gpt-4o-mini", "a-model-that-nobody-prices"];
    const records = Array.from({ length: 60 }, (_, n) =>
      record(rig.uuid(), {
        billing_mode: "metered",
        requested_at: new Date(START - ((n * 7) % 29) * DAY_MS - (n + 1) * 1_000).toISOString(),
        model: models[n % 3],
        prompt_tokens: 20_000 + 9_000 * (n % 13),
        completion_tokens: 800 + 90 * (n % 7),
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        thinking_tokens: 0,
        tokens_complete: true,
        http_status: n % 20 === 0 ? 500 : 200,
        project:
          ["website", "billing-service", "research/a-rather-long-name-of-a-project-in-a-monorepo"][n % 4] ??
          null,
      }),
    );
    const sent = await json(rig.call("POST", "/v1/requests/batch", key.sync_token, batch(...records)));
    assert.equal(sent.accepted, 60);
    await page.reload();
    await page.getByRole("heading", { name: "Spent by model" }).waitFor();
    assert.equal(await page.locator("dt:text-is('Requests') + dd").textContent(), "60");
    await page.getByText("How these models get a price").click();
    await page.getByText("meter-cloud rates publish rates.json").waitFor();
    await look(page, "overview");

    const overview = page.url();
    await page.getByRole("link", { name: "Machines" }).click();
    await page.getByRole("heading", { name: "Machines" }).waitFor();
    await page.getByText("Change anns-laptop").click();
    await look(page, "machines");
    await page.getByRole("link", { name: "Members" }).click();
    await page.getByLabel("Email").fill("a-rather-long-address-of-a-colleague@research.example.com");
    await page.keyboard.press("Enter");
    await page.getByText(/is also shown here, once|it is shown once/).waitFor();
    await look(page, "members");
    await page.goto(overview);

    // A server without its own wording has no link to it.
    assert.equal(await page.getByRole("link", { name: "Change the plan" }).count(), 0);
    await page.goto(`${new URL(page.url()).origin}${new URL(page.url()).pathname}/subscribe`);
    await page.getByLabel("Annual").check();
    await page.getByRole("checkbox").nth(0).check();
    // The browser itself refuses a form without a tick.
    await page.getByRole("button", { name: "Agree and continue" }).click();
    await page.getByRole("heading", { name: "Subscribe" }).waitFor();
    assert.equal(await page.getByRole("status").count(), 0);
    await look(page, "subscribe");
    await page.getByRole("checkbox").nth(1).check();
    await page.getByRole("button", { name: "Agree and continue" }).click();
    await page.getByRole("status").waitFor();
    await look(page, "subscribed");

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${baseUrl}/sign-in`);
    await page.goto(baseUrl);
    assert.equal(new URL(page.url()).pathname, "/sign-in");
    await page.getByLabel("Email").fill("ann@example.com");
    await page.getByLabel("Password").fill("wrong horse battery staple");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    assert.equal(await page.getByLabel("Email").inputValue(), "ann@example.com");
    await page.getByLabel("Password").fill("correct horse battery staple");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Spent by model" }).waitFor();

    // The browser loaded nothing that the policy forbids.
    assert.deepEqual(
      complaints.filter((text) => text.includes("Content Security Policy")),
      [],
    );
  });
});
