import { spawn } from "node:child_process";
import process from "node:process";

/** How long an opener may take to exit before it counts as a running browser, in milliseconds. */
const OPEN_TIMEOUT_MS = 3_000;

/** Returns the command that opens an address in the browser; null if there is no display. */
export function openerOf(
  address: string,
  platform: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly [program: string, ...words: string[]] | null {
  if (platform === "darwin") return ["open", address];
  // Not `start`: it is a shell built-in, and the shell would interpret the address.
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler", address];
  return env.DISPLAY || env.WAYLAND_DISPLAY || env.BROWSER ? ["xdg-open", address] : null;
}

/** Opens the address in the browser. False if that fails at once; a process that keeps running counts as success. */
export async function openAddress(
  address: string,
  env: Readonly<Record<string, string | undefined>>,
  platform: string = process.platform,
): Promise<boolean> {
  const opener = openerOf(address, platform, env);
  if (opener === null) return false;
  const [program, ...words] = opener;
  const child = spawn(program, words, {
    detached: true,
    stdio: "ignore",
    windowsHide: true,
    env: { ...env },
  });
  child.unref();
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), OPEN_TIMEOUT_MS);
    const settle = (opened: boolean) => {
      clearTimeout(timer);
      resolve(opened);
    };
    child.once("error", () => settle(false));
    child.once("exit", (code) => settle(code === 0));
  });
}
