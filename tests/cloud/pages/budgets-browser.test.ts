import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { BROWSER_SUITE_TIMEOUT_MS, withoutChromium } from "../../browser/chromium.rig.ts";
import { batch, record, START, type TestPerson, type TestWorkspace } from "../kit/cloud-rig.ts";
import {
  type CloudBrowser,
  checkInEachView,
  type SignedInPage,
  startCloudBrowser,
} from "./cloud-browser.rig.ts";

describe("the page of budgets in Chromium", {
  skip: await withoutChromium(),
  timeout: BROWSER_SUITE_TIMEOUT_MS,
}, () => {
  let cloud: CloudBrowser;
  let workspace: TestWorkspace;
  let admin: TestPerson;
  before(async () => {
    cloud = await startCloudBrowser();
    const { rig } = cloud;
    workspace = await rig.addWorkspace({ plan: "team" });
    admin = await rig.personIn(workspace, "workspaceAdmin");
    await rig.addMachine(workspace, "a-rather-long-name-of-a-machine.example.com");
    const at = new Date(START - 60_000).toISOString();
    const tokens = {
      prompt_tokens: 9_000_000,
      completion_tokens: 10,
      project: "shop",
      billing_mode: "metered",
    };
    const records = Array.from({ length: 12 }, () => record(rig.uuid(), { requested_at: at, ...tokens }));
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(...records));
    for (const [name, body] of [
      ["all", { amount: "10 requests", at_limit: "block" }],
      ["a-budget-with-a-rather-long-name-and.dots/and/slashes", { amount: "500 USD", zone: "Asia/Kolkata" }],
      ["mine", { subject: "person", target: admin.userId, amount: "3M tokens", period: "total" }],
      ["laptop", { subject: "machine", target: workspace.machineId, amount: "100000 USD", period: "week" }],
      ["shop", { subject: "project", target: "a/deeply/nested/path/of/a/monorepo", amount: "7 USD" }],
    ] as const)
      await rig.call("POST", `/v1/workspaces/${workspace.id}/budgets`, admin.token, {
        ...{ name, subject: "workspace", period: "day" },
        ...body,
      });
  });
  after(async () => {
    await cloud?.close();
  });

  /** Opens the page for the administrator. */
  async function open(javaScriptEnabled: boolean): Promise<SignedInPage> {
    const opened = await cloud.open(admin, { javaScriptEnabled });
    const answer = await opened.page.goto(`${cloud.baseUrl}/w/${workspace.id}/budgets`);
    assert.equal(answer?.status(), 200);
    return opened;
  }

  it("has no barrier at any width, light or dark, with the changes of a budget open", async () => {
    const { context, page, messages } = await open(true);
    await checkInEachView(page, "budgets");
    assert.deepEqual(messages, []);
    await context.close();
  });

  it("sets, lifts, changes and removes a budget without scripts", async () => {
    const { context, page, messages } = await open(false);
    await page.getByLabel("Name").fill("release");
    await page.getByLabel("For", { exact: true }).selectOption({ label: "one project" });
    await page.getByLabel("Project, if the budget is for one").fill("shop");
    await page.getByLabel("Amount").last().fill("lots");
    await page.getByRole("button", { name: "Set the budget" }).click();
    await page.getByRole("alert").getByText("The amount must be written like").waitFor();
    assert.equal(await page.getByLabel("Name").inputValue(), "release");
    await page.getByLabel("Amount").last().fill("5 requests");
    await page.getByLabel("At 100%").last().selectOption({ label: "refuse calls" });
    await page.getByLabel("Name").press("Enter");
    const row = page.getByRole("row", { name: "release" });
    await row.getByText("12 requests of 5 requests, 240%").waitFor();
    await row.getByText("used up, refuses calls").waitFor();
    await row.locator("summary").click();
    await row.getByLabel("Reason").fill("release day");
    await row.getByRole("button", { name: "Lift" }).click();
    await row.getByText("lifted until").waitFor();
    await row.locator("summary").click();
    await row.getByLabel("Amount").fill("100 requests");
    await row.getByRole("button", { name: "Save" }).click();
    await row.getByText("12 requests of 100 requests, 12%").waitFor();
    await row.locator("summary").click();
    await row.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("heading", { name: "New budget" }).waitFor();
    assert.equal(await row.count(), 0);
    // The browser notes the refused form.
    assert.deepEqual(
      messages.filter((text) => !text.includes("status of 422")),
      [],
    );
    await context.close();
  });
});
