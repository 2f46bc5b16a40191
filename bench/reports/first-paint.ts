// When the pages of a running daemon are first painted.
import type { Browser } from "playwright-core";
import { launchChromium, withoutChromium } from "../../tests/browser/chromium.rig.ts";

const ROUNDS = 7;

/** Resolves with the time of the first contentful paint, in milliseconds since the navigation began. */
const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const [paint] = list.getEntriesByName("first-contentful-paint");
    if (paint) resolve(paint.startTime);
  }).observe({ type: "paint", buffered: true });
})`;

/**
 * Returns the time of each page's first paint in milliseconds: the shortest of several visits with an empty browser cache, because other load
 * on the machine only delays it. Null if there is no Chromium.
 */
export async function measureFirstPaints(
  origin: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, number> | null> {
  if ((await withoutChromium()) !== false) return null;
  const browser = await launchChromium();
  try {
    const found = new Map<string, number>();
    for (const path of paths) {
      const visits: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) visits.push(await visit(browser, origin + path));
      found.set(path, Math.min(...visits));
    }
    return found;
  } finally {
    await browser.close();
  }
}

async function visit(browser: Browser, address: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const page = await context.newPage();
    await page.goto(address);
    return Number(await page.evaluate(FIRST_PAINT));
  } finally {
    await context.close();
  }
}
