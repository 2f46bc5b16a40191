/**
 * `npm run pictures:write`: writes the pictures of all pages of both hosts to `docs/pictures/dashboard`, as WebP, and their gallery,
 * `docs/dashboard-pictures.md`. Chromium draws and encodes them. Names of pages as arguments write only these.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext } from "playwright-core";
import { BROWSER_PATIENCE_MS, launchChromium } from "../tests/browser/chromium.rig.ts";
import { listPages, type PageHostRig, startCloudHost, startLocalHost } from "../tests/browser/hosts.rig.ts";

const docs = fileURLToPath(new URL("../docs/", import.meta.url));
const only = process.argv.slice(2);

const VIEWPORTS = [
  { width: 1440, height: 1000 },
  { width: 390, height: 844 },
];
const SCHEMES = ["light", "dark"] as const;
const QUALITY = 0.6;

/** Pages that show another page with a different filter. */
const LEFT_OUT = ["none"];

const nameOf = (host: PageHostRig, page: string): string =>
  `${host.name === "cloud" ? "cloud-" : ""}${page.replaceAll(" ", "-")}`;

/** Returns a PNG as WebP. */
async function toWebp(encoder: BrowserContext, png: Buffer): Promise<Buffer> {
  const page = await encoder.newPage();
  const webp = await page.evaluate(
    `(async () => {
      const image = new Image();
      image.src = "data:image/png;base64,${png.toString("base64")}";
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext("2d").drawImage(image, 0, 0);
      return canvas.toDataURL("image/webp", ${QUALITY});
    })()`,
  );
  await page.close();
  return Buffer.from(String(webp).split(",")[1] ?? "", "base64");
}

/** Draws the pages of a host, each at all sizes. Returns their names. */
async function drawPages(browser: Browser, host: PageHostRig): Promise<string[]> {
  const [context, encoder] = [await host.open(browser), await browser.newContext()];
  for (const each of [context, encoder]) each.setDefaultTimeout(BROWSER_PATIENCE_MS);
  const page = await context.newPage();
  const names: string[] = [];
  for (const [title, path] of await listPages(browser, host)) {
    if (LEFT_OUT.includes(title)) continue;
    const name = nameOf(host, title);
    names.push(name);
    if (only.length > 0 && !only.includes(name)) continue;
    await page.goto(`${host.origin}${path}`);
    if (host.name === "local") await page.getByText("Live", { exact: true }).waitFor();
    for (const colorScheme of SCHEMES)
      for (const viewport of VIEWPORTS) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize(viewport);
        const file = `${docs}pictures/dashboard/${name}-${viewport.width}-${colorScheme}.webp`;
        writeFileSync(file, await toWebp(encoder, await page.screenshot()));
      }
  }
  await Promise.all([context.close(), encoder.close()]);
  return names;
}

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

mkdirSync(`${docs}pictures/dashboard`, { recursive: true });
const browser = await launchChromium();
const hosts: PageHostRig[] = [];
try {
  for (const start of [startLocalHost, startCloudHost]) hosts.push(await start(false));
  const drawn: string[][] = [];
  for (const host of hosts) drawn.push(await drawPages(browser, host));
  const [local = [], cloud = []] = drawn;
  writeFileSync(`${docs}dashboard-pictures.md`, gallery(local, cloud));
} finally {
  await browser.close();
  await Promise.all(hosts.map((host) => host.close()));
}
