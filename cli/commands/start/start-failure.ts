import { findListener } from "../../../adapters/process-table/find-listener.ts";
import type { Config } from "../../../core/operations/config/config.ts";
import { CertificateStoreError } from "../../../core/ports/certificates.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";
import { quoteForShell } from "../../../core/values/text/shell-words.ts";
import { NonLoopbackHostError } from "../../../daemon/proxy/listen-host.ts";
import { ProxyListenError } from "../../../daemon/proxy/start-proxy.ts";
import { configFile } from "../../home/config-file.ts";
import { authorityFiles } from "../../home/prepare-home.ts";
import { CommandFailure } from "../../program/exit-codes.ts";

/** A reason why the daemon can't start that also holds for a process which only relays, or should not be got around. */
export class StartRefusal extends CommandFailure {}

/** Turns an expected reason why the daemon can't start into a message that says what to do. Returns other errors unchanged. */
export async function describeStartFailure(cause: unknown, config: Config, home: string): Promise<unknown> {
  if (cause instanceof NonLoopbackHostError) {
    if (cause.address === null)
      return new StartRefusal(`${cause.message}. Set another one in ${configFile(home)}.`);
    return new StartRefusal(
      `${cause.message}. Anyone who can reach that address could use it.\nAllow it: HALTON_METER_ALLOW_NON_LOOPBACK=1 meter start`,
    );
  }
  const { code, syscall, message } = cause as NodeJS.ErrnoException;
  const isProxy = cause instanceof ProxyListenError;
  if (isProxy || code === "EADDRINUSE" || syscall === "listen") {
    const section = isProxy ? "proxy" : "api";
    if (code === "EADDRINUSE") return new StartRefusal(await portInUse(section, config, home));
    return new StartRefusal(`${message}. Set another host or port in [${section}] of ${configFile(home)}.`);
  }
  if (cause instanceof CertificateStoreError) {
    const folder = quoteForShell(authorityFiles(home).caFolder);
    return new CommandFailure(
      `${cause.message}.\nReplace the authority, then trust the new one: mv ${folder} ${folder}.damaged && meter init`,
    );
  }
  if (cause instanceof StoreError) return new CommandFailure(`${cause.message}.`);
  return cause;
}

const MAX_PORT = 65_535;

async function portInUse(section: "proxy" | "api", config: Config, home: string): Promise<string> {
  const { port } = config[section];
  const by = section === "api" && port === config.proxy.port ? " by the proxy" : await nameListener(port);
  const other = port < MAX_PORT ? port + 1 : port - 1;
  return `Port ${port} is already in use${by}. Set another one in ${configFile(home)}:\n\n[${section}]\nport = ${other}`;
}

async function nameListener(port: number): Promise<string> {
  const listener = await findListener(port);
  return listener === null ? "" : ` by ${listener.program ?? "a program"} (process ${listener.pid})`;
}
