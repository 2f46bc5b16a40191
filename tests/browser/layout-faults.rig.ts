import type { Page } from "playwright-core";

/**
 * Finds texts that cover each other or are cut off, in the content of a page. This is what a picture would show, and it does not depend
 * on the fonts of a machine.
 */
export const FIND_FAULTS = `(() => {
  // Many texts share their ancestors.
  const once = (find) => {
    const found = new Map();
    return (element) => {
      if (!found.has(element)) found.set(element, find(element));
      return found.get(element);
    };
  };
  const isShown = once((element) =>
    element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !element.closest("svg, .hidden, select, [hidden]"));
  const frameOf = once((element) => element.closest(".scroll, pre")?.getBoundingClientRect());
  const isCutOff = once((element) =>
    element.tagName !== "MAIN" &&
    ((["hidden", "clip"].includes(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth + 1) ||
      isCutOff(element.parentElement)));
  const faults = [];
  const texts = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.trim();
    const parent = node.parentElement;
    if (text === "" || !parent || !isShown(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    // What scrolls within a frame is cut off by it.
    const frame = frameOf(parent);
    for (const box of range.getClientRects()) {
      const right = Math.min(box.right, frame?.right ?? Infinity);
      const left = Math.max(box.left, frame?.left ?? -Infinity);
      if (right - left > 2 && box.height > 2) texts.push({ text, parent, left, right, top: box.top, bottom: box.bottom });
    }
    if (isCutOff(parent)) faults.push("cut off: " + text.slice(0, 60));
  }
  texts.sort((one, other) => one.top - other.top);
  for (const [at, one] of texts.entries())
    for (let next = at + 1; next < texts.length && texts[next].top < one.bottom; next += 1) {
      const other = texts[next];
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const height = Math.min(one.bottom, other.bottom) - other.top;
      // The boxes of lines may touch. Letters that cover each other share much more.
      const least = 0.4 * Math.min(one.bottom - one.top, other.bottom - other.top);
      if (width > 2 && height > least) faults.push(one.text.slice(0, 40) + " covers " + other.text.slice(0, 40));
    }
  return [...new Set(faults)];
})()`;

/** Returns the faults of a page's layout, in words. */
export const findLayoutFaults = async (page: Page): Promise<readonly string[]> =>
  (await page.evaluate(FIND_FAULTS)) as string[];

/**
 * Finds numbers with a sign before them that are not isolated, in the content of a page. Where text is read from right to left, their sign
 * would be shown behind them.
 */
export const FIND_UNISOLATED = `(() => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const faults = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (/(?:^|[\\s(])[+−×<][$]?[0-9]/.test(node.data) && !node.parentElement.closest("bdi, data, code, pre, svg, option, .hidden"))
      faults.push("not isolated: " + node.data.trim().slice(0, 60));
  return faults;
})()`;

/** The most that a page may move by itself, as the sum of its layout shifts. */
export const MAX_LAYOUT_SHIFT = 0.02;

/** Resolves once the frame that shows all changes so far was drawn, in which a shift is reported. */
const IS_DRAWN = `(async () => {
  for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
})()`;

/** Returns the time of a page's own clock, in milliseconds, once all changes so far are shown. */
export const readPageClock = async (page: Page): Promise<number> =>
  (await page.evaluate(`${IS_DRAWN}.then(() => performance.now())`)) as number;

/**
 * Returns how much a page moved by itself since a time of its own clock: the sum of its layout shifts (WICG, "Layout Instability API").
 * Chromium marks a shift within half a second of a change of the window as expected. It counts too: the caller changes no window meanwhile.
 */
export const readLayoutShift = async (page: Page, since = 0): Promise<number> =>
  (await page.evaluate(`${IS_DRAWN}.then(() => {
    const observer = new PerformanceObserver(() => {});
    observer.observe({ type: "layout-shift", buffered: true });
    const shifts = observer.takeRecords().filter(({ startTime }) => startTime >= ${since});
    return shifts.reduce((sum, { value }) => sum + value, 0);
  })`)) as number;
