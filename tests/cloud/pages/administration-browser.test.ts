import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { erasePrompts } from "../../../cloud/erasure/run-erasure.ts";
import { BROWSER_SUITE_TIMEOUT_MS, withoutChromium } from "../../browser/chromium.rig.ts";
import type { CloudRig, TestPerson, TestWorkspace } from "../kit/cloud-rig.ts";
import { sendBody, sendRequest } from "../kit/stored-body.ts";
import { type CloudBrowser, checkInEachView, startCloudBrowser } from "./cloud-browser.rig.ts";

/** The pages that administer a workspace. */
const PAGES = [
  ["settings", "/settings"],
  ["keys", "/keys"],
  ["members", "/members"],
  ["views", "/views"],
  ["views-menu", "/requests?period=7d"],
  ["machines", "/machines"],
  ["people", "/people"],
  ["privacy", "/privacy"],
  ["budgets", "/budgets"],
  ["audit-events", "/audit/events"],
  ["audit-prompt-views", "/audit/prompt-views"],
  ["audit-requests", "/audit/requests"],
  ["audit-verification", "/audit/verification?run=now"],
] as const;

const PROMPT = JSON.stringify({
  model: "m",
  messages: [{ role: "user", content: "Please fix it. ".repeat(40) }],
});

describe("the pages that administer a workspace in Chromium", {
  skip: await withoutChromium(),
  timeout: BROWSER_SUITE_TIMEOUT_MS,
}, () => {
  let cloud: CloudBrowser;
  let rig: CloudRig;
  let baseUrl: string;
  let workspace: TestWorkspace;
  let owner: TestPerson;
  let requestId: string;
  before(async () => {
    cloud = await startCloudBrowser();
    ({ rig, baseUrl } = cloud);
    workspace = await rig.addWorkspace({ plan: "business", storePromptContent: true });
    owner = await rig.personIn(workspace, "organisationOwner");
    await rig.addMember(workspace, owner.userId, "admin");
    requestId = await sendRequest(rig, workspace, { project: "shop" });
    await sendBody(rig, workspace, requestId, PROMPT);
    const erasure = { workspaceId: workspace.id, userId: null, project: "another" };
    await erasePrompts({ ...rig.parts, sha256, bodyKeys: rig.bodyKeys }, erasure, owner.userId);
    const reason = encodeURIComponent(
      "A customer reported that an answer contains the name of another customer.",
    );
    await rig.call("GET", `/v1/traces/${requestId}/body?reason=${reason}`, owner.token);
    for (const shared of [true, false])
      await rig.call("POST", `/v1/workspaces/${workspace.id}/views`, owner.token, {
        ...{ name: `What the shop cost, ${shared ? "for everybody" : "for me"}`, page: "/explore" },
        ...{ query: "by=provider&project=shop", shared },
      });
    for (let n = 0; n < 6; n += 1) {
      const userId = await rig.addPerson(`Person ${n} with a rather long name`);
      await rig.addMember(workspace, userId);
      const machineId = await rig.addMachine(workspace, `a-rather-long-name-of-a-machine-${n}.example.com`);
      await rig.addKey(workspace, { userId, machineId });
      const path = `/v1/workspaces/${workspace.id}/invitations`;
      await rig.call("POST", path, owner.token, { email: `guest-number-${n}@example.com`, role: "member" });
    }
  });
  after(async () => {
    await cloud?.close();
  });

  it("have no barrier at any width, light or dark", async () => {
    const { context, page, messages } = await cloud.open(owner);
    for (const [name, path] of PAGES) {
      const answer = await page.goto(`${baseUrl}/w/${workspace.id}${path}`);
      assert.equal(answer?.status(), 200, name);
      await checkInEachView(page, name);
    }
    for (const [name, path] of [
      ["account", "/account"],
      ["organisation", `/organisations/${workspace.organisationId}`],
    ] as const) {
      assert.equal((await page.goto(baseUrl + path))?.status(), 200, name);
      await checkInEachView(page, name);
    }
    assert.deepEqual(messages, []);
    await context.close();
  });

  it("show a stored prompt to an administrator who gives a reason, without a barrier", async () => {
    const { context, page, messages } = await cloud.open(owner);
    await page.goto(`${baseUrl}/w/${workspace.id}/requests/${requestId}`);
    await checkInEachView(page, "request-asks");
    await tabTo(page, "", "reason");
    await page.keyboard.type("An incident");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("Your view is recorded").waitFor();
    assert.equal(await page.locator("pre.body").first().textContent(), PROMPT);
    await checkInEachView(page, "request-prompt");
    assert.deepEqual(messages, []);
    await context.close();
  });

  it("can be used by keyboard: from the navigation to a new key and its revocation", async () => {
    const { context, page, messages } = await cloud.open(owner);
    await page.goto(`${baseUrl}/w/${workspace.id}/settings`);
    await tabTo(page, "Keys");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    await tabTo(page, "Create an admin key");
    await page.keyboard.press("Enter");
    const token = await page.getByRole("status").locator("pre").textContent();
    assert.match(token ?? "", /^mtr_admin_/);
    const rows = page.getByRole("table", { name: "Keys" }).locator("tbody tr");
    const count = await rows.count();
    for (const name of ["Revoke", "Revoke the key"]) {
      await tabTo(page, name);
      await page.keyboard.press("Enter");
    }
    await page.waitForFunction(`document.querySelectorAll("tbody tr").length === ${count - 1}`);
    assert.deepEqual(messages, []);
    await context.close();
  });
});

/** Presses Tab until the focus is on an element whose text begins with the name, and that has the ID if one is given. */
async function tabTo(page: Page, name: string, id: string | null = null): Promise<void> {
  for (let presses = 0; presses < 200; presses += 1) {
    await page.keyboard.press("Tab");
    const [text, focused] = (await page.evaluate(
      "[document.activeElement?.textContent?.trim() ?? '', document.activeElement?.id ?? '']",
    )) as [string, string];
    if (text.startsWith(name) && (id === null || focused === id)) return;
  }
  assert.fail(`no focus reaches ${name} ${id}`);
}
