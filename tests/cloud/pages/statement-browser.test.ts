import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sha256Hex } from "../../../adapters/crypto/node-crypto.ts";
import { DAY_MS } from "../../../core/values/time.ts";
import { BROWSER_SUITE_TIMEOUT_MS, withoutChromium } from "../../browser/chromium.rig.ts";
import { readPdf } from "../../browser/pdf-text.rig.ts";
import { batch, json, record, START } from "../kit/cloud-rig.ts";
import { type CloudBrowser, checkInEachView, startCloudBrowser } from "./cloud-browser.rig.ts";

/** Sizes of paper in points. */
const PAPERS = { A4: [595, 842], Letter: [612, 792] } as const;

describe("the statement of a month in Chromium", {
  skip: await withoutChromium(),
  timeout: BROWSER_SUITE_TIMEOUT_MS,
}, () => {
  let cloud: CloudBrowser;
  before(async () => {
    cloud = await startCloudBrowser();
  });
  after(async () => {
    await cloud?.close();
  });

  it("prints on A4 and Letter with its total, all projects and its digest, and has no barrier", async () => {
    const { rig, app, baseUrl } = cloud;
    const workspace = await rig.addWorkspace({ plan: "team" });
    const person = await rig.personIn(workspace, "member");
    const calls = Array.from({ length: 120 }, (_, n) =>
      record(rig.uuid(), {
        ...{ provider: "anthropic", model: n % 2 === 0 ? "claude-sonnet-4-5" : "claude-opus-4-5" },
        ...{
          project: `project-${String(n % 40).padStart(2, "0")}`,
          billing_mode: n % 4 === 3 ? "plan" : "metered",
        },
        requested_at: new Date(START - (n % 20) * DAY_MS).toISOString(),
        ...{ prompt_tokens: 10_000 + 100 * n, completion_tokens: 500, cache_read_tokens: 0 },
        ...{ cache_write_tokens: 0, thinking_tokens: 0, tokens_complete: true, http_status: 200 },
      }),
    );
    await rig.call("POST", "/v1/requests/batch", workspace.token, batch(...calls));
    const { context, page, messages } = await cloud.open(person);
    const address = `${baseUrl}/w/${workspace.id}/statement/2026-11`;
    assert.equal((await page.goto(address))?.status(), 200);

    const total = await page.locator("dd strong data").textContent();
    const usage = await json(
      rig.call("GET", `/v1/workspaces/${workspace.id}/usage?from=2026-11-01&to=2026-12-01`, person.token),
    );
    assert.equal(
      await page.locator("dd strong data").getAttribute("value"),
      String(Number(usage.totals.spent_pico_usd) / 1e12),
    );
    const headers = { cookie: `session=${person.token}` };
    const file = await app.request(`/w/${workspace.id}/statement/2026-11?format=json`, { headers });
    const digest = sha256Hex(await file.text());
    for (const [format, [width, height]] of Object.entries(PAPERS)) {
      const pages = readPdf(await page.pdf({ format, printBackground: true }));
      assert.ok(pages.length >= 2 && pages.length <= 6, `${format}: ${pages.length} pages`);
      for (const each of pages) {
        assert.ok(Math.abs(each.width - width) < 2 && Math.abs(each.height - height) < 2, format);
        assert.notEqual(each.text, "");
      }
      const text = pages.map((each) => each.text).join("");
      assert.match(text, /StatementforNovember2026/);
      assert.ok(text.includes(total ?? "?"), `${format} lacks ${total}`);
      for (let n = 0; n < 40; n += 1)
        assert.ok(text.includes(`project-${String(n).padStart(2, "0")}`), `${format} lacks project ${n}`);
      assert.ok(text.includes(digest), `${format} lacks the digest`);
      assert.ok(!text.includes("Connectamachine") && !text.includes("CopyasMarkdown"), format);
    }
    await checkInEachView(page, "statement");
    assert.deepEqual(messages, []);
    await context.close();
  });
});
