import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Served, serve } from "../../../adapters/http/serve.ts";
import { isLegibleLine } from "../../../core/wire/characters.ts";
import { launchChromium, withoutChromium } from "../../browser/chromium.rig.ts";
import { batch, json, record } from "../kit/cloud-rig.ts";
import { pgliteEngine } from "../kit/engines.ts";
import { HOSTILE_TEXTS } from "./hostile-texts.rig.ts";
import { createPeopleRig, PASSWORD, type PeopleRig } from "./people.rig.ts";

/** Generous, because the machine may be busy. */
const SLOW_MS = 120_000;

/** Models and projects on a page: fewer than the number from which it truncates the list. */
const PER_WORKSPACE = 8;

/** Texts that the pages about one person show. */
const PLACES = 9;

/** Returns a text as a name that a person can choose: one line with a visible character, and no blanks around it. */
function toName(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return isLegibleLine(line) ? line : `${line}x`;
}

/** Runs in every page before the page's own content. Records calls that a hostile text would make, and what the policy blocked. */
const LISTEN = `
  globalThis.ran = [];
  globalThis.x = () => ran.push("x()");
  addEventListener("securitypolicyviolation", (event) => {
    ran.push([event.violatedDirective, event.blockedURI, event.sample].join(" "));
  });
`;

/** Returns what ran or was blocked, every element that our pages never contain, and every link and form to another origin. */
const LOOK = `(async () => {
  await new Promise(requestAnimationFrame);
  const foreign = "img,svg a:not([href^='/w/']),svg script,iframe,object,embed,video,audio,style,base,template,marquee,math,[onclick],[onload],[onerror],[onfocus],[onmouseover]";
  const stray = [...document.querySelectorAll(foreign)];
  const leading = [...document.querySelectorAll("a[href]:not(svg a)")].filter((link) => link.origin !== location.origin);
  const sending = [...document.forms].filter((form) => new URL(form.getAttribute("action") ?? "", location.href).origin !== location.origin);
  return [...ran, ...[...stray, ...leading, ...sending].map((element) => element.outerHTML)];
})()`;

describe("hostile texts in the pages, in a browser with scripts", { skip: await withoutChromium() }, () => {
  let people: PeopleRig;
  let served: Served;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let baseUrl: string;
  /** Dialogs, console messages, errors and requests to other origins. All are failures. */
  const noticed: string[] = [];

  before(async () => {
    served = await serve((request, peer) => people.app.fetch(request, peer), { host: "127.0.0.1", port: 0 });
    baseUrl = `http://127.0.0.1:${served.port}`;
    people = await createPeopleRig(pgliteEngine(), { baseUrl, openSignUp: true });
    browser = await launchChromium(["--host-resolver-rules=MAP evil.test 127.0.0.1"]);
    context = await browser.newContext();
    await context.addInitScript({ content: LISTEN });
    page = await context.newPage();
    page.setDefaultTimeout(SLOW_MS);
    page.on("dialog", (dialog) => {
      noticed.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("console", (message) => noticed.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => noticed.push(`error: ${error.message}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(baseUrl)) noticed.push(`request: ${request.url()}`);
    });
  });
  after(async () => {
    await browser?.close();
    await served?.close(0);
    await people?.rig.close();
  });

  /** Opens a page and checks that it ran nothing, called no other origin, and has no foreign element. */
  const open = async (path: string) => {
    await page.goto(baseUrl + path);
    await quiet(path);
  };
  const quiet = async (where: string) => {
    // After a frame, so that handlers of focus, toggle and load have run.
    const found = await page.evaluate(LOOK);
    assert.deepEqual(found, [], where);
    assert.deepEqual(noticed, [], where);
    assert.equal(new URL(page.url()).origin, baseUrl, where);
  };

  it("uses the complete corpus", () => {
    assert.ok(HOSTILE_TEXTS.length >= 180, String(HOSTILE_TEXTS.length));
    assert.equal(new Set(HOSTILE_TEXTS).size, HOSTILE_TEXTS.length);
  });

  it("are shown literally: workspaces, models and projects", { timeout: 8 * SLOW_MS }, async () => {
    const { rig } = people;
    const { userId } = await people.addOwner("owner@example.com");
    const token = await rig.sessionFor(userId);
    const { organisations } = await json(rig.call("GET", "/v1/me", token));
    const named = new Map<string, { id: string; texts: readonly string[] }>();
    for (let at = 0; at < HOSTILE_TEXTS.length; at += PER_WORKSPACE) {
      const texts = HOSTILE_TEXTS.slice(at, at + PER_WORKSPACE);
      const [name = ""] = texts.map(toName);
      const made = await json(
        rig.call("POST", "/v1/workspaces", token, { organisation_id: organisations[0].id, name }),
      );
      assert.equal(made.name, name);
      const key = await rig.addKey({
        id: made.id,
        organisationId: "",
        userId,
        machineId: await machineIn(made.id),
        token: "",
      });
      const records = texts.map((text) =>
        record(rig.uuid(), { model: text, project: text, provider: text, prompt_tokens: 7 }),
      );
      const sent = await json(rig.call("POST", "/v1/requests/batch", key, batch(...records)));
      assert.equal(sent.accepted, texts.length, JSON.stringify(sent.rejected));
      named.set(name, { id: made.id, texts });
    }
    await context.addCookies([await cookieOf(token)]);
    for (const [name, { id, texts }] of named) {
      await open(`/w/${id}`);
      assert.equal(await page.locator(".workspace summary").textContent(), name);
      for (const table of ["Projects", "Models"]) {
        const shown = await page.getByRole("table", { name: table }).locator("th.name").allTextContents();
        assert.deepEqual(shown.sort(), texts.toSorted());
      }
    }
    await open("/");
    assert.deepEqual(
      (await page.locator("ul.places a").allTextContents()).sort(),
      ["Main", ...named.keys()].sort(),
    );
    const [[, { id } = { id: "" }] = []] = named;
    await open(`/w/${id}/subscribe`);
    await context.clearCookies();
  });

  // Planted: with the machine's name as raw markup on the page of a pairing, the first text failed.
  it("are shown literally: people, organisations, machines and invitations", {
    timeout: 8 * SLOW_MS,
  }, async () => {
    const { rig } = people;
    // Each page with all names on it, and a different text in each of its places.
    const texts = HOSTILE_TEXTS.filter((text) => text.trim() !== "").map((text) => text.trim());
    for (let at = 0; at < texts.length; at += PLACES) {
      const [one = "", machine = "", platform = "", two = "", three = "", ...query] = [
        ...texts.slice(at, at + PLACES),
        ...texts,
      ];
      const [person = "", workspace = "", organisation = ""] = [one, two, three].map(toName);
      const [next = "", typedEmail = "", name = "", code = ""] = query;
      const email = `hostile-${at}@example.com`;
      const made = await rig.main(
        "POST",
        "/api/auth/sign-up/email",
        { name: person, email, password: PASSWORD },
        { origin: baseUrl },
      );
      assert.equal(made.status, 200, person);
      const token = made.headers.get("set-auth-token") ?? "";
      const own = await json(
        rig.call("POST", "/v1/organisations", token, { name: organisation, workspace_name: workspace }),
      );
      const ticket = await json(
        rig.call("POST", "/v1/pairing/start", null, { hostname: machine, platform, daemon_version: "0.4.0" }),
      );
      await context.addCookies([await cookieOf(decodeURIComponent(token))]);
      await open(`/connect?code=${ticket.code}`);
      assert.equal(await page.locator("header .account span").textContent(), person);
      assert.deepEqual((await page.locator("dd").allTextContents()).slice(1, 3), [machine, platform]);
      assert.ok((await page.locator("option").allTextContents()).includes(workspace));

      const invitation = `/v1/workspaces/${own.workspace.id}/invitations`;
      const { link } = await json(rig.call("POST", invitation, token, { email: "guest@example.com" }));
      await context.clearCookies();
      await page.goto(link);
      await page.getByText("You are invited").waitFor();
      await quiet(link);
      assert.deepEqual((await page.locator("dd").allTextContents()).slice(0, 2), [workspace, organisation]);

      // Texts that anyone may put into a URL or a form.
      const typed = new URLSearchParams({ next, email: typedEmail, name, code, error: next, done: next });
      const others = ["/sign-in", "/invitation", "/reset-password", "/forgot-password"];
      await open(`${others[(at / PLACES) % others.length]}?${typed}#${encodeURIComponent(next)}`);
      await open(`/sign-up?${typed}`);
      // Fields of one line have no line breaks.
      assert.equal(await page.getByLabel("Name").inputValue(), name.replaceAll("\n", ""));
      await context.clearCookies();
    }
  });

  /** A machine, so that a key can be bound to it. */
  async function machineIn(workspaceId: string): Promise<string> {
    return await people.rig.addMachine({
      id: workspaceId,
      organisationId: "",
      userId: "",
      machineId: "",
      token: "",
    });
  }

  async function cookieOf(token: string) {
    return {
      name: "meter.session_token",
      value: token.includes("%") ? token : encodeURIComponent(token),
      url: baseUrl,
    };
  }
});
