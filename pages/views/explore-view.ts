import type { UsageViewSpec } from "../usage-view.ts";

export const EXPLORE_VIEW: UsageViewSpec = {
  path: "/explore",
  defaults: { by: "project", thenBy: "model", top: 10 },
  own: { view: ["table", "chart"] },
};
