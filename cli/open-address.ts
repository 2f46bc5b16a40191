import { spawn } from "node:child_process";
import process from "node:process";

/** A program that opens addresses ends, or hands over, within this time in milliseconds. */
const OPEN_WITHIN_MS = 3_000;

/** The program and words that show an address in the person's browser; null where there is no screen to show it on. */
export function openerOf(
  address: string,
  platform: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly [program: string, ...words: string[]] | null {
  if (platform === "darwin") return ["open", address];
  // Not `start`: it is a word of the shell, which would read the address.
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler", address];
  return env.DISPLAY || env.WAYLAND_DISPLAY || env.BROWSER ? ["xdg-open", address] : null;
}

/** Opens the address in the person's browser. False where that fails at once; a browser that stays open is a success. */
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
    const timer = setTimeout(() => resolve(true), OPEN_WITHIN_MS);
    const settle = (opened: boolean) => {
      clearTimeout(timer);
      resolve(opened);
    };
    child.once("error", () => settle(false));
    child.once("exit", (code) => settle(code === 0));
  });
}
