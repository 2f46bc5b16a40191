import { describe } from "node:test";
import { SHARED_PAGES, testAllPages } from "./all-pages.rig.ts";
import { BROWSER_SUITE_TIMEOUT_MS, withoutChromium } from "./chromium.rig.ts";
import { startLocalHost } from "./hosts.rig.ts";

describe("every page of the daemon in Chromium", {
  skip: await withoutChromium(),
  timeout: BROWSER_SUITE_TIMEOUT_MS,
}, () => {
  testAllPages(startLocalHost, SHARED_PAGES);
});
