/**
 * `npm run pictures:write`: writes the pictures of all pages of both hosts to `docs/pictures/dashboard`, as WebP, and their gallery,
 * `docs/dashboard-pictures.md`. Chromium draws and encodes them. Names of pages as arguments write only these.
 *
 * `npm run pictures:check` draws them again and fails if one differs by more than 0.3 % of its pixels. The hosts' clocks stand still and their
 * ids are the same in every run, so unchanged pages give the same bytes. Other versions of Chromium and other fonts draw other pixels: there,
 * nothing is compared.
 */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Browser, Page } from "playwright-core";
import { BROWSER_PATIENCE_MS, launchChromium } from "../tests/browser/chromium.rig.ts";
import {
  listPages,
  type PageHostRig,
  startCloudHost,
  startStillLocalHost,
} from "../tests/browser/hosts.rig.ts";

// A local page divides time into days in the time zone of this process.
process.env.TZ = "UTC";

const { values: options, positionals: only } = parseArgs({
  allowPositionals: true,
  options: { check: { type: "boolean", default: false } },
});

const docs = fileURLToPath(new URL("../docs/", import.meta.url));
const pictures = join(docs, "pictures/dashboard");
/** States the version of Chromium and the fonts that drew the pictures. */
const drawnWith = join(pictures, "drawn-with.json");

const VIEWPORTS = [
  { width: 1440, height: 1000 },
  { width: 390, height: 844 },
];
const SCHEMES = ["light", "dark"] as const;
const QUALITY = 0.6;

/** Pages that show another page with a different filter. */
const LEFT_OUT = ["none"];

/** The database chooses the ids of audit events, and so the order of equal times and the hashes. */
const NOT_COMPARED = ["cloud-audit", "cloud-audit-views", "cloud-audit-verification"];

/** The share of a picture's pixels that may differ. A pixel differs if one of its channels does by more than `SAME_WITHIN`, of 255. */
const MAX_DIFFERENT = 0.003;
const SAME_WITHIN = 24;

const nameOf = (host: PageHostRig, page: string): string =>
  `${host.name === "cloud" ? "cloud-" : ""}${page.replaceAll(" ", "-")}`;

/** The functions of the page in which Chromium encodes and compares pictures. */
const CODEC = `
const draw = async (type, data) => {
  const image = new Image();
  image.src = "data:image/" + type + ";base64," + data;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas;
};
const encode = async (png) => (await draw("png", png)).toDataURL("image/webp", ${QUALITY}).split(",")[1];
const compare = async (one, other) => {
  const [a, b] = await Promise.all([one, other].map((data) => draw("webp", data)));
  if (a.width !== b.width || a.height !== b.height) return 1;
  const [left, right] = [a, b].map((each) => each.getContext("2d").getImageData(0, 0, a.width, a.height).data);
  let different = 0;
  for (let at = 0; at < left.length; at += 4)
    if ([0, 1, 2].some((channel) => Math.abs(left[at + channel] - right[at + channel]) > ${SAME_WITHIN})) different += 1;
  return different / (a.width * a.height);
};`;

/** Returns what decides the pixels of a page besides the page: the version of Chromium, and its drawing of a text. */
async function describeDrawing(browser: Browser): Promise<Readonly<Record<string, string>>> {
  const page = await browser.newPage({ viewport: { width: 300, height: 100 } });
  await page.setContent(
    '<p style="font: 14px system-ui">Spent $1,234.50 – 62%</p><b style="font: bold 14px sans-serif">Models</b><pre>meter report</pre>',
  );
  const text = createHash("sha256")
    .update(await page.screenshot())
    .digest("hex");
  await page.close();
  return { chromium: browser.version(), text };
}

/** Draws the pages of a host, each at all sizes. Returns their names. */
async function drawPages(
  browser: Browser,
  host: PageHostRig,
  take: (name: string, file: string, webp: Buffer) => Promise<void>,
): Promise<string[]> {
  const context = await host.open(browser);
  context.setDefaultTimeout(BROWSER_PATIENCE_MS);
  const codec = await openCodec(browser);
  const page = await context.newPage();
  const names: string[] = [];
  for (const [title, path] of await listPages(browser, host)) {
    if (LEFT_OUT.includes(title)) continue;
    const name = nameOf(host, title);
    names.push(name);
    if (only.length > 0 && !only.includes(name)) continue;
    await page.goto(`${host.origin}${path}`);
    await replaceOrigin(page, host.origin);
    for (const colorScheme of SCHEMES)
      for (const viewport of VIEWPORTS) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(viewport);
        const png = (await page.screenshot()).toString("base64");
        const webp = Buffer.from(String(await codec.evaluate(`encode("${png}")`)), "base64");
        await take(name, `${name}-${viewport.width}-${colorScheme}.webp`, webp);
      }
  }
  await Promise.all([context.close(), codec.close()]);
  return names;
}

async function openCodec(browser: Browser): Promise<Page> {
  const page = await browser.newPage();
  page.setDefaultTimeout(BROWSER_PATIENCE_MS);
  await page.evaluate(`(() => { ${CODEC} Object.assign(globalThis, { encode, compare }); })()`);
  return page;
}

/** Replaces the address of a host, whose port differs in each run, in the commands on a page. */
const replaceOrigin = (page: Page, origin: string) =>
  page.evaluate(
    `for (const each of document.querySelectorAll("code"))
      each.textContent = each.textContent.replace(${JSON.stringify(origin)}, "https://meter.example.com")`,
  );

const toRow = (name: string): string => {
  const pictures = VIEWPORTS.flatMap(({ width }) =>
    SCHEMES.map((scheme) => {
      const shown = width === 390 ? 90 : 260;
      const file = `pictures/dashboard/${name}-${width}-${scheme}.webp`;
      return `<a href="${file}"><img src="${file}" width="${shown}" alt="${name}, ${width} pixels, ${scheme}"></a>`;
    }),
  );
  return `| ${[name, ...pictures].join(" | ")} |`;
};

const gallery = (local: readonly string[], cloud: readonly string[]): string =>
  [
    "# Pictures of all pages",
    "`npm run pictures:write` draws them from two months of invented requests. [The dashboard](dashboard.md) describes each page.",
    "",
    ...[
      ["On a machine", local],
      ["In the cloud", cloud],
    ].flatMap(([heading, names]) => [
      `## ${heading}`,
      "| page | wide, light | wide, dark | narrow, light | narrow, dark |",
      "|---|---|---|---|---|",
      ...(names as readonly string[]).map(toRow),
      "",
    ]),
  ].join("\n");

/** Draws all pages of both hosts. Returns their names, by host. */
async function drawAll(browser: Browser, take: Parameters<typeof drawPages>[2]): Promise<string[][]> {
  const hosts: PageHostRig[] = [];
  try {
    for (const start of [startStillLocalHost, startCloudHost]) hosts.push(await start(false));
    const drawn: string[][] = [];
    for (const host of hosts) drawn.push(await drawPages(browser, host, take));
    return drawn;
  } finally {
    await Promise.all(hosts.map((host) => host.close()));
  }
}

async function writePictures(browser: Browser): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  const [local = [], cloud = []] = await drawAll(browser, async (_, file, webp) =>
    writeFileSync(join(pictures, file), webp),
  );
  writeFileSync(join(docs, "dashboard-pictures.md"), gallery(local, cloud));
  writeFileSync(drawnWith, `${JSON.stringify(await describeDrawing(browser), null, 2)}\n`);
}

/** Draws the pictures and compares them with the stored ones. Those that differ are left in a temporary folder. */
async function checkPictures(browser: Browser): Promise<void> {
  const [stored, own] = [readFileSync(drawnWith, "utf8"), await describeDrawing(browser)];
  if (stored !== `${JSON.stringify(own, null, 2)}\n`) {
    console.log(`Not compared: the pictures were drawn by another Chromium or with other fonts.\n${stored}`);
    return;
  }
  const codec = await openCodec(browser);
  const folder = mkdtempSync(join(tmpdir(), "meter-pictures-"));
  let [compared, different] = [0, 0];
  await drawAll(browser, async (name, file, webp) => {
    if (NOT_COMPARED.includes(name)) return;
    compared += 1;
    const before = readFileSync(join(pictures, file));
    if (before.equals(webp)) return;
    const bothPictures = [before, webp].map((each) => JSON.stringify(each.toString("base64"))).join(", ");
    const share = Number(await codec.evaluate(`compare(${bothPictures})`));
    if (share <= MAX_DIFFERENT) return;
    different += 1;
    writeFileSync(join(folder, file), webp);
    console.log(`${file}: ${(100 * share).toFixed(1)} % of its pixels differ`);
  });
  console.log(`${compared} pictures compared, ${different} differ by more than 0.3 %`);
  if (different === 0) return;
  console.log(`They are in ${folder}. If they are right: npm run pictures:write`);
  process.exitCode = 1;
}

const browser = await launchChromium();
try {
  await (options.check ? checkPictures(browser) : writePictures(browser));
} finally {
  await browser.close();
}
