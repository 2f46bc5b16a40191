import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import { promisify } from "node:util";
import { type Browser, chromium } from "playwright-core";

const run = promisify(execFile);

/**
 * Where Debian and others put it; `METER_CHROMIUM` names another place. First the one without windows: the same engine at
 * half the processor time.
 */
const places = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** After this long, in milliseconds, something hangs: one thing in the browser, and a whole suite. */
export const BROWSER_PATIENCE_MS = 120_000;
export const BROWSER_SUITE_TIMEOUT_MS = 900_000;

/** Installing takes minutes on a slow line, in milliseconds. */
const INSTALL_TIMEOUT_MS = 600_000;

const find = (): string | null =>
  [process.env.METER_CHROMIUM, ...places].find((path) => path !== undefined && existsSync(path)) ?? null;

/**
 * Finds a Chromium, or installs Debian's where we are root; null where neither goes. The tests then say loudly that they
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

/** The program, looked for once; null where there is none. */
function chromiumPath(): Promise<string | null> {
  path ??= findOrInstallChromium();
  return path;
}

/** For `describe(name, { skip: await withoutChromium() })`: the reason to skip, or false. Node alone drives it. */
export async function withoutChromium(): Promise<string | false> {
  if ("Deno" in globalThis || "Bun" in globalThis) return "the browser is driven on Node alone";
  return (await chromiumPath()) === null ? "there is no Chromium" : false;
}

/** Starts a browser that talks to nobody by itself. `words` are more of its switches. Close it. */
export async function launchChromium(words: readonly string[] = []): Promise<Browser> {
  const executablePath = await chromiumPath();
  if (executablePath === null) throw new Error("there is no Chromium");
  return chromium.launch({
    executablePath,
    // Sandboxes need more rights than a container gives.
    chromiumSandbox: false,
    args: [
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...words,
    ],
  });
}
