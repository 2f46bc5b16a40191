import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { renderChips } from "../../pages/filters.ts";
import { readUsageView, renderUsageChips } from "../../pages/usage-view.ts";
import { readView } from "../../pages/view.ts";
import { OVERVIEW_VIEW } from "../../pages/views/overview.ts";
import { requestsSpec } from "../../pages/views/requests.ts";

const QUERY = new URLSearchParams("branch=&client=&model=m");

describe("the filters of a page", () => {
  const views = {
    "of a list": renderChips(readView(requestsSpec("/requests", ["branch", "client", "model"]), QUERY)),
    "of usage": renderUsageChips(readUsageView(OVERVIEW_VIEW, QUERY)),
  };
  for (const [name, chips] of Object.entries(views))
    it(`${name} name a missing value after its dimension`, () => {
      const text = String(chips)
        .replaceAll(/<[^>]*>/g, "")
        .replaceAll(/\s+/g, " ");
      assert.match(text, /Branch is none/);
      assert.match(text, /Program is unknown/);
      assert.match(text, /Model is m/);
    });
});
