import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Writable } from "node:stream";
import type { Config } from "../../../core/operations/config/config.ts";
import { isLoopbackAddress } from "../../../daemon/proxy/forbidden-targets.ts";
import type { ProxyConfig } from "../../../daemon/proxy/proxy-config.ts";
import { readOrCreateSecret } from "../../home/read-or-create-secret.ts";

/** The file with the generated password, which is used again at the next start. */
export const passwordFile = (home: string) => join(home, "proxy-password");

/** 144 random bits, in 24 characters. */
const PASSWORD_BYTES = 18;

/**
 * Returns the proxy's password and which clients must send it. If the proxy can be reached from other machines, a password
 * is required unless the configuration turns that off. If none is configured, one is generated, and only clients on other
 * machines must send it, because those on this machine were set up without it.
 */
export async function resolveProxyLogin(
  home: string,
  { password, requireAuthorization }: Config["proxy"],
  address: string,
): Promise<Required<Pick<ProxyConfig, "proxyPassword" | "passwordFor">>> {
  if (password !== null || !requireAuthorization || isLoopbackAddress(address)) {
    return { proxyPassword: password, passwordFor: "everybody" };
  }
  const generated = await readOrCreateSecret(passwordFile(home), /^[\w-]{24}$/, () =>
    randomBytes(PASSWORD_BYTES).toString("base64url"),
  );
  return { proxyPassword: generated, passwordFor: "other_machines" };
}

/**
 * Describes where the generated password is. It is printed only on a terminal: a service's output is kept in logs that
 * others may read.
 */
export function passwordNotice(file: string, output: Writable): string {
  const isTerminal = "isTTY" in output && output.isTTY === true;
  if (!isTerminal) return `Programs on other machines log in with the password in ${file}.`;
  return `Programs on other machines log in with this password: ${readFileSync(file, "utf8").trim()}\nIt is kept in ${file}.`;
}
