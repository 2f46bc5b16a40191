import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import { promisify } from "node:util";
import { type Browser, chromium } from "playwright-core";

const run = promisify(execFile);

/**
 * The paths of Chromium on Debian and others; `METER_CHROMIUM` names another one. The headless shell comes first: the
 * same engine at half the processor time.
 */
const places = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** Time limits in milliseconds: of one action in the browser, and of a whole suite. */
export const BROWSER_PATIENCE_MS = 120_000;
export const BROWSER_SUITE_TIMEOUT_MS = 900_000;

/** Installing takes minutes on a slow line, in milliseconds. */
const INSTALL_TIMEOUT_MS = 600_000;

const find = (): string | null =>
  [process.env.METER_CHROMIUM, ...places].find((path) => path !== undefined && existsSync(path)) ?? null;

/**
 * Finds a Chromium, or installs Debian's if this user is root; null if neither works. The tests then report that they
 * were skipped. With `METER_BROWSER_TESTS=required`, as in CI, it rejects instead.
 */
async function findOrInstallChromium(): Promise<string | null> {
  const found = find();
  if (found !== null) return found;
  let why = "it is not installed, and this user may not install it";
  if (process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    try {
      const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
      await run("apt-get", ["update", "-q"], { env, timeout: INSTALL_TIMEOUT_MS });
      await run("apt-get", ["install", "-y", "-q", "--no-install-recommends", "chromium-headless-shell"], {
        env,
        timeout: INSTALL_TIMEOUT_MS,
        maxBuffer: 64 * 1024 * 1024,
      });
      const installed = find();
      if (installed !== null) return installed;
      why = "apt-get installed none";
    } catch (cause) {
      why = `apt-get could not install it: ${(cause as Error).message.split("\n")[0]}`;
    }
  }
  const message = `BROWSER TESTS ARE SKIPPED: there is no Chromium: ${why}`;
  if (process.env.METER_BROWSER_TESTS === "required") throw new Error(message);
  process.stderr.write(`\n${message}\n\n`);
  return null;
}

let path: Promise<string | null> | null = null;

/** The program, which is searched for once; null if there is none. */
function chromiumPath(): Promise<string | null> {
  path ??= findOrInstallChromium();
  return path;
}

/** For `describe(name, { skip: await withoutChromium() })`: the reason to skip, or false. Node alone drives it. */
export async function withoutChromium(): Promise<string | false> {
  if ("Deno" in globalThis || "Bun" in globalThis) return "the browser is driven on Node alone";
  return (await chromiumPath()) === null ? "there is no Chromium" : false;
}

/** Starts a browser that makes no requests by itself. `words` are further switches. The caller closes it. */
export async function launchChromium(words: readonly string[] = []): Promise<Browser> {
  const executablePath = await chromiumPath();
  if (executablePath === null) throw new Error("there is no Chromium");
  return chromium.launch({
    executablePath,
    // A container does not give the rights that sandboxes need.
    chromiumSandbox: false,
    args: [
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Pages live for seconds: compiling and collecting on other threads takes a tenth more CPU time than it saves.
      "--js-flags=--single-threaded --min-semi-space-size=16",
      ...words,
    ],
  });
}
