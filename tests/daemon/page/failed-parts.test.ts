import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Hono } from "hono";
import type { ApiPorts } from "../../../daemon/api/api-ports.ts";
import type { Store } from "../../../daemon/store/port/store.ts";
import { openApi } from "../api/api.rig.ts";
import { noon, sampleRecord } from "../store/sample-records.rig.ts";
import { sampleSettings } from "./sample-settings.rig.ts";

const FAILURE = new Error("disk I/O error at /home/eve");

const fail = (): never => {
  throw FAILURE;
};

/** A broken part of what a page reads. */
type Broken = Partial<Omit<ApiPorts, "store">> & { readonly store?: Partial<Store> };

/** Opens a page some of whose reads fail. `:id` and `:session` in the path are those of the stored call. */
async function openWith(path: string, breakIt: (store: Store) => Broken) {
  const errors: unknown[] = [];
  const rig = await openApi({ onError: (error) => errors.push(error) });
  try {
    const call = sampleRecord({ requestedAt: noon, project: "apollo", sessionId: "one" });
    rig.store.records.insert([call]);
    rig.store.coverage.add([{ at: noon, host: "h", kind: "metered", count: 1 }]);
    const { store, ...ports } = breakIt(rig.store);
    Object.assign(rig.ports, ports, { store: { ...rig.store, ...store } });
    const answer = await rig.ask(path.replace(":id", call.requestId).replace(":session", "one"));
    return { status: answer.status, text: await answer.text(), errors };
  } finally {
    rig.close();
  }
}

const brokenCoverage = ({ coverage }: Store) => ({ store: { coverage: { ...coverage, read: fail } } });
const brokenRuns = ({ coverage }: Store) => ({ store: { coverage: { ...coverage, readRuns: fail } } });
const brokenTimes = ({ coverage }: Store) => ({ store: { coverage: { ...coverage, readTimes: fail } } });
const brokenGaps = ({ coverage }: Store) => ({ store: { coverage: { ...coverage, readGaps: fail } } });
const brokenLimits = ({ limits }: Store) => ({ store: { limits: { ...limits, list: fail } } });
const brokenMenus = ({ reports }: Store) => ({ store: { reports: { ...reports, readEach: fail } } });
const brokenBreakdowns = ({ reports }: Store) => ({
  store: { reports: { ...reports, readUsageEach: fail } },
});
const brokenPrompts = ({ reports }: Store) => ({ store: { reports: { ...reports, findSamePrompt: fail } } });
const brokenNewest = ({ reports }: Store) => ({ store: { reports: { ...reports, readNewestCalls: fail } } });
const brokenOrigins = ({ origins }: Store) => ({ store: { origins: { ...origins, list: fail } } });
const brokenCalls = ({ sessions }: Store) => ({ store: { sessions: { ...sessions, requests: fail } } });
const brokenSessions = ({ sessions }: Store) => ({ store: { sessions: { ...sessions, list: fail } } });
const brokenRecords = ({ records }: Store) => ({ store: { records: { ...records, get: fail, list: fail } } });
const brokenUsage = ({ reports }: Store) => ({ store: { reports: { ...reports, readUsage: fail } } });
const brokenBudgets = (): Broken => ({
  budgets: {
    tracker: { refresh: fail, state: fail, cutCalls: fail },
    configured: [],
    letThrough: fail,
    confirmed: fail,
  },
});
const brokenCloud = (): Broken => ({ cloud: { routes: new Hono(), banner: fail } });
const brokenProjects = (): Broken => ({
  sent: { outbox: { read: async function* () {} }, localProjects: fail },
});
const brokenLog = (): Broken => ({ sent: { outbox: { read: fail }, localProjects: () => new Set() } });
const settings = async () => sampleSettings({}, {});
const brokenCapture = ({ settings: own }: Store): Broken => ({
  ...{ store: { settings: { ...own, listProjects: fail } }, settings },
});
const brokenSettings = (): Broken => ({ settings: fail });

const AT = (part: string) => new RegExp(`role="note">Could not be read: ${part}\\.</div>`);
const UNREAD_FACT = /<span class="bad">could not be read<\/span>/;
const NO_COVERAGE = /<span class="bad">Coverage could not be read\.<\/span>/;

describe("a part of a local page that can't be read", () => {
  for (const [path, part, breakIt, place, rest] of [
    ["/", "breakdowns", brokenBreakdowns, AT("breakdowns"), /May 2026 so far[\s\S]*class="chart"/],
    ["/savings", "menus of filters", brokenBreakdowns, AT("menus of filters"), /Savings/],
    ["/savings", "coverage", brokenCoverage, NO_COVERAGE, /Savings/],
    ["/now", "limits", brokenLimits, AT("limits"), /Latest requests[\s\S]*apollo/],
    ["/now", "budgets", brokenBudgets, AT("budgets"), /Latest requests[\s\S]*apollo/],
    ["/now", "menus of filters", brokenBreakdowns, AT("menus of filters"), /Latest requests[\s\S]*apollo/],
    ["/requests", "coverage, number of requests", brokenCoverage, AT("number of requests"), /apollo/],
    ["/requests", "menus of filters", brokenMenus, AT("menus of filters"), /1 of 1 requests[\s\S]*apollo/],
    ["/requests/:id", "origins of projects", brokenOrigins, UNREAD_FACT, /Tokens as the provider/],
    ["/requests/:id", "requests with the same prompt", brokenPrompts, UNREAD_FACT, /Tokens as the provider/],
    ["/sessions", "coverage", brokenCoverage, NO_COVERAGE, /1 session[\s\S]*apollo/],
    ["/sessions", "menus of filters", brokenMenus, AT("menus of filters"), /1 session[\s\S]*apollo/],
    ["/sessions/:session", "requests of the session", brokenCalls, AT("requests of the session"), /Length/],
    ["/limits", "limits", brokenLimits, AT("limits"), /meter budget set/],
    ["/limits", "budgets", brokenBudgets, AT("budgets"), /No limits seen yet/],
    ["/coverage", "times without the meter", brokenRuns, AT("times without the meter"), /1 of 1 calls/],
    ["/coverage", "calls by time", brokenTimes, AT("calls by time"), /1 of 1 calls/],
    ["/coverage", "what was not metered", brokenGaps, AT("what was not metered"), /1 of 1 calls/],
    ["/coverage", "state of the cloud", brokenCloud, AT("state of the cloud"), /1 of 1 calls/],
    ["/projects", "origins of projects", brokenOrigins, AT("origins of projects"), /apollo/],
    ["/projects", "how projects were found", brokenNewest, AT("how projects were found"), /apollo/],
    [
      "/privacy",
      "projects that stay on this machine",
      brokenProjects,
      AT("projects that stay on this machine"),
      /left this/,
    ],
    ["/settings", "projects that keep bodies", brokenCapture, AT("projects that keep bodies"), /proxy\.port/],
    [
      "/settings",
      "state of the cloud",
      () => ({ ...brokenCloud(), settings }),
      /<dd>could not be read<\/dd>/,
      /proxy\.port/,
    ],
  ] as const)
    it(`is named on ${path} (${part}), at its place too, and the page shows the rest`, async () => {
      const { status, text, errors } = await openWith(path, breakIt);
      assert.equal(status, 200);
      assert.match(text, new RegExp(`role="alert">Could not be read: ${part}\\. `));
      assert.match(text, /Code: <code>internal<\/code>\. <a href="[^"]+">Try again<\/a>/);
      assert.match(text, place);
      assert.match(text, rest);
      assert.doesNotMatch(text, /disk I\/O|home\/eve|This page could not be read/);
      assert.ok(errors.length > 0 && errors.every((error) => error === FAILURE));
    });

  it("is not left out of a file: the file is not sent", async () => {
    for (const [path, breakIt] of [
      ["/now?format=json", brokenLimits],
      ["/limits?format=csv", brokenBudgets],
      ["/coverage?format=json", brokenGaps],
      ["/privacy?format=json", brokenProjects],
    ] as const) {
      const { status, text } = await openWith(path, breakIt);
      assert.equal(status, 500, path);
      assert.doesNotMatch(text, /<html|disk I\/O/);
    }
  });

  it("leaves the frame, the navigation, and the command that finds the cause, if the page has no other part", async () => {
    for (const [path, name, breakIt] of [
      ["/", "Overview", brokenUsage],
      ["/explore", "Explore", brokenUsage],
      ["/models", "Models", brokenUsage],
      ["/projects", "Projects", brokenUsage],
      ["/now", "Now", brokenRecords],
      ["/requests", "Requests", brokenRecords],
      ["/requests/:id", "Requests", brokenRecords],
      ["/sessions", "Sessions", brokenSessions],
      ["/coverage", "Coverage", brokenCoverage],
      ["/privacy", "Privacy", brokenLog],
      ["/settings", "Settings", brokenSettings],
    ] as const) {
      const { status, text, errors } = await openWith(path, breakIt);
      assert.equal(status, 500, path);
      assert.match(text, new RegExp(`<h1>${name}</h1>`));
      assert.match(text, /<nav aria-label="Pages">[\s\S]*href="\/limits"/);
      assert.match(text, /This page could not be read[\s\S]*<pre tabindex="0">meter doctor<\/pre>/);
      assert.match(text, /Code: <code>internal<\/code>[\s\S]*Try again/);
      assert.doesNotMatch(text, /disk I\/O|home\/eve/);
      assert.ok(errors.includes(FAILURE));
    }
  });

  it("is not mentioned if all parts are read", async () => {
    const { text, errors } = await openWith("/", () => ({}));
    assert.doesNotMatch(text, /Could not be read/);
    assert.deepEqual(errors, []);
  });
});
