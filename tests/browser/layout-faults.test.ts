import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { BROWSER_SUITE_TIMEOUT_MS, launchChromium, withoutChromium } from "./chromium.rig.ts";
import { findLayoutFaults, MAX_LAYOUT_SHIFT, readLayoutShift, readPageClock } from "./layout-faults.rig.ts";

describe("findLayoutFaults()", { skip: await withoutChromium(), timeout: BROWSER_SUITE_TIMEOUT_MS }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launchChromium();
  });
  after(() => browser?.close());

  const faultsOf = async (content: string) => {
    const page = await browser.newPage();
    await page.setContent(`<main style="width: 300px; font: 16px/1.4 sans-serif">${content}</main>`);
    const faults = await findLayoutFaults(page);
    await page.close();
    return faults;
  };

  it("finds texts that cover each other, and texts that are cut off", async () => {
    assert.deepEqual(await faultsOf('<p>first</p><p style="margin-top: -36px">second</p>'), [
      "first covers second",
    ]);
    assert.deepEqual(
      await faultsOf('<p style="width: 40px; overflow: hidden; white-space: nowrap">a long name</p>'),
      ["cut off: a long name"],
    );
  });

  it("lets lines touch, and a table scroll within its frame", async () => {
    const row =
      '<div class="scroll" style="overflow-x: auto; width: 80px"><p style="width: 400px">a long row</p></div>';
    assert.deepEqual(await faultsOf(`<p>first<br>second</p>${row}<span class="hidden">unseen</span>`), []);
  });
});

describe("readLayoutShift()", { skip: await withoutChromium(), timeout: BROWSER_SUITE_TIMEOUT_MS }, () => {
  it("adds up what moved since a time, also after a change of the window", async () => {
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      await page.setContent('<main><p>first</p><p style="height: 300px; background: red">second</p></main>');
      assert.equal(await readLayoutShift(page), 0);
      await page.setViewportSize({ width: 320, height: 640 });
      const since = await readPageClock(page);
      await page.evaluate("document.querySelector('p').style.height = '100px'");
      const shift = await readLayoutShift(page, since);
      assert.ok(shift > MAX_LAYOUT_SHIFT, `${shift}`);
      assert.equal(await readLayoutShift(page, await readPageClock(page)), 0);
    } finally {
      await browser.close();
    }
  });
});
