/**
 * `node tools/ask-questions.ts`: answers ten questions in a browser, each from the overview, on a machine and in the cloud, and prints the
 * clicks and seconds of each as the table of `docs/dashboard.md`. A question whose answer is not on the page fails.
 */
import assert from "node:assert/strict";
import process from "node:process";
import type { Browser, Page } from "playwright-core";
import { launchChromium } from "../tests/browser/chromium.rig.ts";
import { type PageHostRig, startCloudHost, startLocalHost } from "../tests/browser/hosts.rig.ts";

/** A click, and what is on the page after it. */
type Step = readonly [selector: string, then: string];

interface Question {
  readonly text: string;
  readonly way: string;
  readonly steps: readonly Step[];
  /** Where the answer is, and what it looks like. */
  readonly answer: readonly [selector: string, pattern: RegExp];
}

const go = (page: string, heading = page): Step => [
  `.side > nav a:text-is("${page}")`,
  `h1:has-text("${heading}")`,
];
const sortBy = (column: string): Step => [
  `thead a:text-is("${column}")`,
  `th[aria-sort]:has-text("${column}")`,
];
const first = (heading: string): Step => ["#list tbody th a >> nth=0", `h1:has-text("${heading}")`];
const toPeriod = (name: string): Step => [
  `.switch a:text-is("${name}")`,
  `.switch a[aria-current]:text-is("${name}")`,
];
const SUMMARY = "main [data-summary] >> nth=0";
const FIRST_ROW = "main tbody tr >> nth=0";

const QUESTIONS: readonly Question[] = [
  {
    text: "Which session spent most last week, and why?",
    way: "Sessions, 7 days, *Spent*, the first session, By cost",
    steps: [
      go("Sessions"),
      toPeriod("7 days"),
      sortBy("Spent"),
      first("Session of"),
      ["#view-cost", "#view-cost[aria-current]"],
    ],
    answer: [`table[aria-label="Calls"] tbody tr >> nth=0`, /cache miss.*\$0\.6/s],
  },
  {
    text: "What did I spend today?",
    way: "Today",
    steps: [toPeriod("Today")],
    answer: [".figures .value >> nth=0", /^\$\d/],
  },
  {
    text: "Why did it rise?",
    way: "the sentence below the menus",
    steps: [],
    answer: [SUMMARY, /Up \$.* explains \$/],
  },
  {
    text: "Which calls failed, and why?",
    way: "*failed* below the requests",
    steps: [[".figures a:has-text('failed')", `h1:text-is("Requests")`]],
    answer: [FIRST_ROW, /429 rate limit/],
  },
  {
    text: "Which calls have no price?",
    way: "*Show* in the notice",
    steps: [[".notice li:has-text('no known price') a", `h1:text-is("Requests")`]],
    answer: [FIRST_ROW, /unpriced/],
  },
  {
    text: "What did a branch cost?",
    way: "Projects",
    steps: [go("Projects", "Projects and branches")],
    answer: ["main tbody tr:has-text('feature/usage-pages')", /feature\/usage-pages \$\d/],
  },
  {
    text: "Was anything not metered?",
    way: "Coverage",
    steps: [go("Coverage")],
    answer: [SUMMARY, /\d+ of \d+ calls to providers were metered/],
  },
  {
    text: "Which call took longest?",
    way: "Requests, *Duration*",
    steps: [go("Requests"), sortBy("Duration")],
    answer: [FIRST_ROW, /1 min 10 s/],
  },
  {
    text: "Why did this call cost exactly that, and what without a cache?",
    way: "Requests, *Cost*, the first call",
    steps: [go("Requests"), sortBy("Cost"), first("Request of")],
    answer: ["main section >> nth=0", /Cost \$0\.\d{5,}.*Sum.*Without a cache: \$/s],
  },
  {
    text: "Do I reach a limit?",
    way: "Limits",
    steps: [["nav a:text-is('Limits') >> nth=0", `main table[aria-label="Limits"]`]],
    answer: [FIRST_ROW, /5h.*62%.*in 1 h|5h.*62%.*in 2 h/s],
  },
];

/** Returns how many seconds the steps take, without the time to read the pages. */
async function answerQuestion(browser: Browser, host: PageHostRig, question: Question): Promise<number> {
  const context = await host.open(browser, { viewport: { width: 1440, height: 900 } });
  try {
    const page: Page = await context.newPage();
    await page.goto(`${host.origin}${host.base || "/"}`);
    const began = performance.now();
    for (const [selector, then] of question.steps) {
      await page.locator(selector).click();
      await page.locator(then).waitFor();
    }
    const [selector, pattern] = question.answer;
    // biome-ignore lint/performance/useDomNodeTextContent: hidden text does not count as an answer.
    assert.match(await page.locator(selector).innerText(), pattern, `${host.name}: ${question.text}`);
    return (performance.now() - began) / 1_000;
  } finally {
    await context.close();
  }
}

const browser = await launchChromium();
const hosts = [await startLocalHost(false), await startCloudHost(false)];
try {
  const lines = ["| question | way | clicks | s, machine | s, cloud |", "|---|---|---|---|---|"];
  for (const question of QUESTIONS) {
    const seconds: string[] = [];
    for (const host of hosts) seconds.push((await answerQuestion(browser, host, question)).toFixed(1));
    const { text, way, steps } = question;
    lines.push(`| ${[text, way, steps.length, ...seconds].join(" | ")} |`);
  }
  process.stdout.write(`${lines.join("\n")}\n`);
} finally {
  await browser.close();
  await Promise.all(hosts.map((host) => host.close()));
}
