import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Served, serve } from "../../../adapters/http/serve.ts";
import { type OidcRig, startOidcProvider } from "../../adapters/accounts/oidc-provider.rig.ts";
import { launchChromium, withoutChromium } from "../../browser/chromium.rig.ts";
import { batch, json, record, START } from "../kit/cloud-rig.ts";
import { pgliteEngine } from "../kit/engines.ts";
import { look } from "./look-at-page.rig.ts";
import { createPeopleRig, PASSWORD, type PeopleRig } from "./people.rig.ts";

/** Generous, because the machine may be busy. */
const SLOW_MS = 120_000;

describe("signing in, in a browser", { skip: await withoutChromium() }, () => {
  let provider: OidcRig;
  let people: PeopleRig;
  let served: Served;
  let browser: Browser;
  let baseUrl: string;
  let owner: { userId: string; workspaceId: string };
  let ownerToken: string;
  /** Another site, which serves pages of the test. */
  let elsewhere: Server;
  let elsewherePage = "";
  let context: BrowserContext;
  let page: Page;
  const complaints: string[] = [];
  /** What the browser sent: addresses and referrers, which servers and proxies may log. */
  const seen: string[] = [];

  before(async () => {
    provider = await startOidcProvider();
    served = await serve((request, peer) => people.app.fetch(request, peer), { host: "127.0.0.1", port: 0 });
    baseUrl = `http://127.0.0.1:${served.port}`;
    people = await createPeopleRig(pgliteEngine(), { baseUrl, provider });
    owner = await people.addOwner("owner@example.com", "Olga Osei");
    ownerToken = await people.rig.sessionFor(owner.userId);
    elsewhere = createServer((_, response) =>
      response.setHeader("content-type", "text/html").end(elsewherePage),
    );
    await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
    browser = await launchChromium(["--host-resolver-rules=MAP evil.test 127.0.0.1"]);
  });
  beforeEach(async () => {
    await context?.close();
    await open(true);
  });
  after(async () => {
    await browser?.close();
    elsewhere?.close();
    provider?.close();
    await served?.close(0);
    await people?.rig.close();
  });

  const open = async (javaScriptEnabled: boolean) => {
    context = await browser.newContext({ javaScriptEnabled, viewport: { width: 1280, height: 900 } });
    page = await context.newPage();
    page.setDefaultTimeout(SLOW_MS);
    complaints.length = 0;
    seen.length = 0;
    page.on("console", (message) => complaints.push(message.text()));
    page.on("request", (request) => {
      seen.push(
        request.url(),
        ...Object.values(request.headers()).filter((value) => !value.startsWith("meter.")),
      );
    });
  };
  const invite = async (email: string): Promise<{ link: string; token: string }> => {
    const path = `/v1/workspaces/${owner.workspaceId}/invitations`;
    const { link } = await json(people.rig.call("POST", path, ownerToken, { email, role: "admin" }));
    return { link, token: link.split("#")[1] };
  };
  /** By keyboard only: moves the focus to the field or button of that name. */
  const tabTo = async (name: string) => {
    for (let turns = 0; turns < 30; turns += 1) {
      const focused = await page.evaluate(
        "(document.activeElement?.labels?.[0] ?? document.activeElement)?.textContent?.trim() ?? ''",
      );
      if (focused === name) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`the keyboard does not reach ${name}`);
  };
  const at = (path: string) => page.waitForURL(baseUrl + path);
  /** Waits until the page has put the focus into the field of that label, which browsers do with their first frame. */
  const focusIn = (label: string) => page.getByLabel(label).and(page.locator(":focus")).waitFor();

  it("an invitation's secret is read from the emailed link, removed from the address, and sent only in one request body", {
    timeout: 4 * SLOW_MS,
  }, async () => {
    const { link, token } = await invite("new@example.com");
    await page.goto(link);
    await page.getByRole("heading", { name: "You are invited" }).waitFor();
    assert.equal(page.url(), `${baseUrl}/invitation`);
    await look(page, "invitation");
    await tabTo("Create an account");
    await page.keyboard.press("Enter");
    await at("/sign-up?next=%2Finvitation");
    assert.equal(await page.getByLabel("Email").inputValue(), "new@example.com");
    await look(page, "sign-up-invited");
    // The focus is in the first empty field.
    await focusIn("Name");
    await page.keyboard.type("Noor Haddad");
    await tabTo("Password");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await at(`/w/${owner.workspaceId}`);
    await page.goBack();
    await page.goBack();
    assert.ok(!page.url().includes(token));
    assert.deepEqual(
      seen.filter((text) => text.includes(token)),
      [],
    );
    assert.ok(!JSON.stringify(people.rig.log).includes(token));
    assert.deepEqual(complaints, []);
  });

  it("a second link opened in the same tab replaces the first", { timeout: 2 * SLOW_MS }, async () => {
    const [one, other] = [await invite("one@example.com"), await invite("other@example.com")];
    await page.goto(one.link);
    await page.getByText("one@example.com").waitFor();
    // Only the part after the `#` changes, so the page is not reloaded.
    await page.goto(other.link);
    await page.getByText("other@example.com").waitFor();
    assert.equal(page.url(), `${baseUrl}/invitation`);
  });

  it("an invitation link can be pasted without scripts", { timeout: 2 * SLOW_MS }, async () => {
    await context.close();
    await open(false);
    const { link } = await invite("pasted@example.com");
    await page.goto(link);
    await look(page, "invitation-paste");
    await page.keyboard.insertText(link);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "You are invited" }).waitFor();

    await page.goto(`${baseUrl}/reset-password#AAAAAAAAAAAAAAAAAAAAAAAA`);
    await page.getByLabel("Link from the email").waitFor();
    await look(page, "reset-paste");
  });

  it("an invitation for another address is refused with a message", { timeout: 2 * SLOW_MS }, async () => {
    await page.goto(`${baseUrl}/sign-in`);
    await look(page, "sign-in-provider");
    await focusIn("Email");
    await page.getByLabel("Email").fill("owner@example.com");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await at(`/w/${owner.workspaceId}`);
    const { link } = await invite("third@example.com");
    await page.goto(link);
    await page.getByText("You are signed in as").waitFor();
    await look(page, "invitation-other");
    const mine = await invite("owner@example.com");
    await page.goto(mine.link);
    await page.getByRole("button", { name: "Accept" }).waitFor();
    await look(page, "invitation-accept");
    await page.goto(`${baseUrl}/invitation#mtr_invite_${"A".repeat(64)}`);
    await page.getByRole("heading", { name: "Open an invitation" }).waitFor();
    await focusIn("Link");
    await page.getByLabel("Link").fill("what is this");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await look(page, "invitation-refused");
  });

  it("a new password can be set from the emailed link by keyboard alone", {
    timeout: 4 * SLOW_MS,
  }, async () => {
    await people.addOwner("forgot@example.com");
    await page.goto(`${baseUrl}/sign-in`);
    await focusIn("Email");
    await tabTo("Forgot your password?");
    await page.keyboard.press("Enter");
    await at("/forgot-password");
    await look(page, "forgot");
    await focusIn("Email");
    await page.keyboard.type("forgot@example.com");
    await page.keyboard.press("Enter");
    await page.getByRole("status").waitFor();
    await look(page, "forgot-sent");
    const [, secret = ""] = /#([\w-]+)/.exec(people.emails.at(-1)?.text ?? "") ?? [];
    await page.goto(`${baseUrl}/reset-password#${secret}`);
    assert.equal(page.url(), `${baseUrl}/reset-password`);
    await page.getByLabel("Link from the email").waitFor({ state: "hidden" });
    await look(page, "reset");
    await focusIn("New password");
    await page.keyboard.type("short");
    await page.keyboard.press("Enter");
    // The browser refuses it, with its own message.
    assert.equal(await page.evaluate("document.activeElement.validity.tooShort"), true);
    await page.keyboard.type(" and then long enough");
    await page.keyboard.press("Enter");
    await page.getByText("Your new password is set").waitFor();
    await look(page, "sign-in-done");
    await focusIn("Email");
    await page.getByLabel("Email").fill("forgot@example.com");
    await page.getByLabel("Password").fill("short and then long enough");
    await page.keyboard.press("Enter");
    await page.getByText("Nothing metered yet").waitFor();
    assert.deepEqual(
      seen.filter((text) => text.includes(secret)),
      [],
    );
    assert.deepEqual(complaints, []);

    await page.goto(`${baseUrl}/reset-password#${secret}`);
    await focusIn("New password");
    await page.keyboard.type("another long password");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await look(page, "reset-refused");
  });

  it("signing in by a provider's button joins the invitation's workspace", {
    timeout: 4 * SLOW_MS,
  }, async () => {
    const { link, token } = await invite("guest@example.com");
    provider.claims = { sub: "g", email: "guest@example.com", email_verified: false, name: "Guest Gomez" };
    await page.goto(link);
    await page.getByRole("link", { name: "Sign in" }).click();
    // The email address is the invitation's.
    await focusIn("Password");
    await tabTo("Continue with Example Corp");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await page.getByText("The provider has not verified your email address").waitFor();
    await look(page, "sign-in-refused-provider");
    provider.claims = { ...provider.claims, email_verified: true };
    await page.getByRole("button", { name: "Continue with Example Corp" }).click();
    await at(`/w/${owner.workspaceId}`);
    assert.deepEqual(
      seen.filter((text) => text.includes(token)),
      [],
    );
    assert.deepEqual(complaints, []);
  });

  it("every page is complete without data, with much data and at a wrong address", {
    timeout: 4 * SLOW_MS,
  }, async () => {
    const { rig } = people;
    const { userId } = await people.addOwner(
      "much@example.com",
      "Maximiliane-Theodora von Hohenstauffen-Rappoltsweiler",
    );
    const token = await rig.sessionFor(userId);
    const { organisations, workspaces } = await json(rig.call("GET", "/v1/me", token));
    await context.addCookies([{ name: "meter.session_token", value: token, url: baseUrl }]);
    await page.goto(`${baseUrl}/connect`);
    await look(page, "connect-code");
    await page.getByLabel("Code").fill("WRNG-CODE");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").waitFor();
    await look(page, "connect-wrong");
    // The choice of the machine's user, with long names.
    const home = {
      ...(await rig.addWorkspace()),
      id: workspaces[0].id,
      organisationId: organisations[0].id,
    };
    for (const name of ["Ben", "Maximiliane-Theodora von Hohenstauffen-Rappoltsweiler the Second"]) {
      await rig.addMember(home, await rig.addPerson(name));
    }
    const machine = {
      hostname: "a-build-machine-with-a-long-name.example.com",
      platform: "linux",
      daemon_version: "1",
    };
    const ticket = await json(rig.call("POST", "/v1/pairing/start", null, machine));
    await page.goto(`${baseUrl}/connect?code=${ticket.code}`);
    await look(page, "connect-choice");
    const choice = page.getByLabel("Who uses this machine?");
    const ben = await choice.locator("option", { hasText: "Ben" }).getAttribute("value");
    await choice.selectOption(ben);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText(/belong to Ben/).waitFor();
    await look(page, "connect-approved-for-another");
    for (const path of ["/w/nothing", `/w/${owner.workspaceId}`, "/nowhere"]) {
      await page.goto(baseUrl + path);
      await page.getByRole("heading", { name: "Page not found" }).waitFor();
      await look(page, "not-found");
    }
    const names = [
      "Platform and infrastructure (Europe, Middle East and Africa)",
      "x".repeat(100),
      "日本の請求",
      "R&D",
    ];
    for (const name of [...names, "Sales", "Support", "Trial"])
      await rig.call("POST", "/v1/workspaces", token, { organisation_id: organisations[0].id, name });
    await page.goto(baseUrl);
    await look(page, "home-many");

    const workspaceId = workspaces[0].id;
    const workspace = { id: workspaceId, organisationId: "", userId, machineId: "", token: "" };
    const key = await rig.addKey({ ...workspace, machineId: await rig.addMachine(workspace) });
    const labels = ["x".repeat(64), "a/deeply/nested/path/of/a/monorepo/with/many/parts", "请求", "api"];
    const records = Array.from({ length: 40 }, (_, n) =>
      record(rig.uuid(), {
        requested_at: new Date(START - (n % 30) * 86_400_000 - n).toISOString(),
        prompt_tokens: 900_000_000_000 * ((n % 5) + 1),
        completion_tokens: n % 7 === 0 ? null : 5_000_000,
        project: labels[n % 4],
        model: n % 3 === 0 ? `anthropic.claude-${"very-".repeat(8)}long-model-name-20261101-v1:0` : "gpt-4o",
        http_status: n % 9 === 0 ? 500 : 200,
      }),
    );
    assert.equal((await json(rig.call("POST", "/v1/requests/batch", key, batch(...records)))).accepted, 40);
    await page.goto(`${baseUrl}/w/${workspaceId}`);
    await page.locator("#usage-table > summary").click();
    await look(page, "overview-extreme");
    await page.getByRole("link", { name: "7 days" }).click();
    await page.waitForURL(/period=7d/);
    await look(page, "overview-week");

    await context.clearCookies();
    const nobody = await rig.addPerson("Nobody Yet");
    await context.addCookies([
      { name: "meter.session_token", value: await rig.sessionFor(nobody), url: baseUrl },
    ]);
    await page.goto(baseUrl);
    await look(page, "home-none");
  });

  it("another site's page cannot frame ours, or sign a visitor in or out", {
    timeout: 4 * SLOW_MS,
  }, async () => {
    await page.goto(`${baseUrl}/sign-in`);
    await focusIn("Email");
    await page.getByLabel("Email").fill("owner@example.com");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await at(`/w/${owner.workspaceId}`);
    const evil = `http://evil.test:${(elsewhere.address() as AddressInfo).port}/`;
    for (const path of [
      "/",
      `/w/${owner.workspaceId}`,
      "/connect",
      "/sign-in",
      "/invitation",
      "/reset-password",
    ]) {
      elsewherePage = `<iframe src="${baseUrl}${path}"></iframe>`;
      await page.goto(evil);
      const framed = page.frames()[1];
      assert.equal(framed === undefined ? "" : await framed.locator("main#main").count(), 0, path);
      assert.ok(
        complaints.some((text) => text.includes("frame-ancestors")),
        path,
      );
      complaints.length = 0;
    }
    const { token } = await invite("owner@example.com");
    const forms: readonly (readonly [string, Record<string, string>])[] = [
      ["/sign-out", {}],
      ["/sign-in", { email: "forgot@example.com", password: PASSWORD }],
      ["/invitation", { link: token }],
      ["/api/auth/sign-out", {}],
      ["/v1/invitations/accept", { token }],
      [`/w/${owner.workspaceId}/subscribe`, { plan: "team" }],
    ];
    const cookies = await context.cookies();
    for (const [path, fields] of forms) {
      const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
      elsewherePage = `<form method="post" action="${baseUrl}${path}">${inputs.join("")}<button>Win</button></form>`;
      await page.goto(evil);
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.url() === baseUrl + path),
        page.getByRole("button", { name: "Win" }).click(),
      ]);
      assert.ok([401, 403].includes(answer.status()), `${path}: ${answer.status()}`);
    }
    assert.deepEqual(await context.cookies(), cookies);
    await page.goto(`${baseUrl}/`);
    await at(`/w/${owner.workspaceId}`);
  });
});
