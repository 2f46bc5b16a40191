import { describe } from "node:test";
import { SHARED_PAGES, testAllPages } from "./all-pages.rig.ts";
import { BROWSER_SUITE_TIMEOUT_MS, withoutChromium } from "./chromium.rig.ts";
import { startCloudHost } from "./hosts.rig.ts";

describe("every page of the cloud in Chromium", {
  skip: await withoutChromium(),
  timeout: BROWSER_SUITE_TIMEOUT_MS,
}, () => {
  testAllPages(startCloudHost, [
    ...SHARED_PAGES,
    ...["machines", "people", "budgets", "settings", "keys", "members", "audit"],
  ]);
});
