/**
 * `npm run pictures:write`: writes the pictures of the dashboard's pages to `docs/pictures/dashboard`, as WebP. Chromium draws and
 * encodes them.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { launchChromium } from "../tests/browser/chromium.rig.ts";
import { createFilledHome, sampleMonths, sampleSessions } from "../tests/browser/sample-home.rig.ts";
import { type MeterProcess, removeHome, startMeter } from "../tests/end-to-end/meter-process.rig.ts";

const folder = fileURLToPath(new URL("../docs/pictures/dashboard/", import.meta.url));
const now = Date.now();
const sessions = sampleSessions(now);
const session = sessions.at(-1);

const PAGES: Readonly<Record<string, string>> = {
  now: "now",
  overview: "",
  explore: "explore",
  sessions: "sessions?sort=cost",
  session: `sessions/${session?.sessionId}`,
  requests: "requests",
  request: `requests/${session?.requestId}`,
  projects: "projects",
  models: "models",
  coverage: "coverage",
};

/** The pages that are also drawn in dark. */
const DARK = ["overview", "session"];

const WIDE = { width: 1440, height: 1000 };
const PHONE = { width: 390, height: 844 };
const QUALITY = 0.72;

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly viewport: typeof WIDE;
  readonly colorScheme: "light" | "dark";
}

const pictures = Object.entries(PAGES).flatMap(([page, path]): Picture[] =>
  (["light", "dark"] as const)
    .filter((scheme) => scheme === "light" || DARK.includes(page))
    .flatMap((colorScheme) =>
      [WIDE, PHONE].map((viewport) => ({
        name: `${page}-${viewport.width}-${colorScheme}.webp`,
        ...{ path, viewport, colorScheme },
      })),
    ),
);

async function draw(browser: Browser, meter: MeterProcess, picture: Picture): Promise<void> {
  const context = await browser.newContext(picture);
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${meter.apiPort}/${picture.path}`);
  await page.getByText("Live", { exact: true }).waitFor();
  const png = (await page.screenshot()).toString("base64");
  const encoder = await context.newPage();
  const webp = await encoder.evaluate(
    `(async () => {
      const image = new Image();
      image.src = "data:image/png;base64,${png}";
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext("2d").drawImage(image, 0, 0);
      return canvas.toDataURL("image/webp", ${QUALITY});
    })()`,
  );
  writeFileSync(`${folder}${picture.name}`, Buffer.from(String(webp).split(",")[1] ?? "", "base64"));
  await context.close();
}

const records = [...sampleMonths(now), ...sessions].sort((one, other) => one.requestedAt - other.requestedAt);
const meter = await startMeter(
  await createFilledHome(["[proxy]", "port = 0", "[api]", "port = 0"], records, now),
);
const browser = await launchChromium();
try {
  mkdirSync(folder, { recursive: true });
  for (const picture of pictures) await draw(browser, meter, picture);
} finally {
  await browser.close();
  await meter.stop();
  removeHome(meter.home);
}
