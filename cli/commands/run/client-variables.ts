import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { findUserHome } from "../../../adapters/files/meter-home.ts";
import { writeFileIfChanged } from "../../../adapters/files/write-file-atomic.ts";
import { writeNodePreload } from "../../install/node-preload.ts";
import type { CommandContext } from "../../program/command-context.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Programs that start others, perhaps Ollama's server, which reads `OLLAMA_HOST` as the address to listen on. */
const SHELLS = /^(?:sh|bash|zsh|fish|dash|ksh|pwsh|powershell|cmd|make|docker|tmux|screen)(?:\.exe)?$/i;

/**
 * Returns the variables for clients that the proxy and trust variables do not reach: Node's, GnuTLS's wget, and clients of
 * Ollama, which connect to their own machine without a proxy. `metered` is the environment with the proxy variables.
 */
export function clientVariables(
  { home, env }: Pick<CommandContext, "home" | "env">,
  { program, words }: { readonly program: string; readonly words: readonly string[] },
  metered: Environment,
): Record<string, string> {
  const startsServer = SHELLS.test(basename(program)) || words.some((word) => /^(?:serve|start)$/.test(word));
  const gateway = new URL("/ollama", metered.HTTPS_PROXY);
  gateway.username = "";
  gateway.password = "";
  return {
    NODE_OPTIONS: writeNodePreload(home, env.NODE_OPTIONS),
    ...wgetVariables(home, env, metered.SSL_CERT_FILE ?? ""),
    ...(!env.OLLAMA_HOST && !startsServer && { OLLAMA_HOST: gateway.href }),
  };
}

/**
 * Writes a wgetrc with our certificates, since wget with GnuTLS reads no variable for these, and returns the variables that name
 * it. A wgetrc can't include another one, and the caller's may contain passwords, so it is not copied: wget reads it in place of
 * the system's, and ours after it. Source: `initialize()` in wget's `init.c`, from version 1.12.
 */
function wgetVariables(home: string, env: Environment, bundleFile: string): Record<string, string> {
  const path = join(home, "wgetrc");
  writeFileIfChanged(path, `ca_certificate = ${bundleFile}\n`, { mode: 0o600 });
  const userHome = env.HOME ?? findUserHome();
  const own = env.WGETRC ?? (userHome === null ? null : join(userHome, ".wgetrc"));
  // Below another `meter run`, the variable is set already.
  return { WGETRC: path, ...(own !== null && own !== path && existsSync(own) && { SYSTEM_WGETRC: own }) };
}
