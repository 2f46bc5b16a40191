import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { findBarriers } from "./barriers.rig.ts";
import { BROWSER_SUITE_TIMEOUT_MS, launchChromium, withoutChromium } from "./chromium.rig.ts";

const CONTRAST = { type: "rule", values: ["color-contrast"] };

describe("findBarriers()", { skip: await withoutChromium(), timeout: BROWSER_SUITE_TIMEOUT_MS }, () => {
  let browser: Browser;
  let page: Page;
  before(async () => {
    browser = await launchChromium();
    page = await browser.newPage();
  });
  after(() => browser?.close());

  const barriersOf = async (content: string) => {
    await page.setContent(
      `<main style="font: 16px sans-serif; color: #333; background: #fff">${content}</main>`,
    );
    return findBarriers(page, CONTRAST);
  };

  it("finds each text with too little contrast, even if the same text passed on another background", async () => {
    assert.deepEqual(await barriersOf("<p>one</p><p>two</p>"), []);
    const faint = '<p style="color: #aaa">faint</p>';
    const both = `color-contrast: ${faint} | ${faint}`;
    for (const [content, expected] of [
      [`<p>one</p>${faint}<p>two</p>${faint}`, [both]],
      [`${faint}<p>one</p>${faint}`, [both]],
      ['<div style="background: #444"><p>one</p></div>', ["color-contrast: <p>one</p>"]],
      ['<div style="opacity: 0.4"><p>one</p></div>', ["color-contrast: <p>one</p>"]],
      // Large texts need less contrast.
      ['<p style="color: #888; font-size: 30px">one</p>', []],
      ['<p style="color: #888">one</p>', ['color-contrast: <p style="color: #888">one</p>']],
    ] as const)
      assert.deepEqual(await barriersOf(content), expected, content);
  });

  it("finds a text before something that does not contain it", async () => {
    const ground = '<div style="position: absolute; inset: 0; background: #444"></div>';
    const text = '<p style="position: relative">one</p>';
    assert.deepEqual(await barriersOf(text), []);
    assert.deepEqual(await barriersOf(`<div style="position: relative">${ground}${text}</div>`), [
      `color-contrast: ${text}`,
    ]);
  });

  it("does not count an invisible text as one that passed", async () => {
    const text = '<p style="color: #bbb">one</p>';
    assert.deepEqual(await barriersOf(`<div style="visibility: hidden">${text}</div>`), []);
    assert.deepEqual(
      await barriersOf(`<div style="position: absolute; clip: rect(0 0 0 0)">${text}</div>`),
      [],
    );
    assert.deepEqual(await barriersOf(text), [`color-contrast: ${text}`]);
  });

  describe("in a table with many rows", () => {
    const row = (cell: string) => `<tr><td style="padding: 12px">${cell}</td></tr>`;
    const link = (text: string, more = "") => `<a href="#x" ${more}>${text}</a>`;
    const buttons = (...texts: string[]) =>
      texts.map((text) => `<button style="padding: 0; border: 0">${text}</button>`).join("");
    const ordinary = (n: number) => link(`Request ${n}`) + buttons("Details", "Remove");
    const rows = Array.from({ length: 30 }, (_, n) => row(ordinary(n)));
    const tableOf = (all: readonly string[]) => `<table><tbody>${all.join("")}</tbody></table>`;
    const htmlOf = () => page.evaluate("document.body.innerHTML");

    it("judges two rows of a form, and leaves all of them in their places", async () => {
      await page.setContent(`<main>${tableOf(rows.flatMap((each, n) => [each, row(`${n}`)]))}</main>`);
      const before = await htmlOf();
      await findBarriers(page, CONTRAST);
      assert.equal(await htmlOf(), before);
      const shown = await page.evaluate(`(() => {
        const putBack = removeRepeated();
        const count = document.querySelectorAll("tr").length;
        putBack();
        return count;
      })()`);
      assert.equal(shown, 4);
      assert.equal(await htmlOf(), before);
    });

    it("finds what only one of the rows has, wherever it is", async () => {
      const rules = {
        type: "rule",
        values: ["link-name", "color-contrast", "target-size", "aria-roles"],
      };
      const faint = "color: #aaa; background: #fff";
      for (const [cell, id] of [
        [link("   ") + buttons("Details", "Remove"), "link-name"],
        [link("Request 31", `style="${faint}"`) + buttons("Details", "Remove"), "color-contrast"],
        [link("Request 31") + buttons("1", "2"), "target-size"],
        [link("Request 31", 'role="nowhere"') + buttons("Details", "Remove"), "aria-roles"],
      ] as const) {
        const all = rows.toSpliced(17, 0, row(cell), row(cell));
        await page.setContent(
          `<main style="font: 12px/1 sans-serif; color: #333; background: #fff">${tableOf(all)}</main>`,
        );
        const found = await findBarriers(page, rules);
        assert.equal(found.length, 1, `${id}: ${found.join()}`);
        assert.ok(found[0]?.startsWith(`${id}: `), found[0]);
      }
    });
  });
});
