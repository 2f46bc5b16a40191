import { findListener } from "../../../adapters/process-table/find-listener.ts";
import type { Config } from "../../../core/operations/config/config.ts";
import { CertificateStoreError } from "../../../core/ports/certificates.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";
import { NonLoopbackHostError } from "../../../daemon/proxy/listen-host.ts";
import { ProxyListenError } from "../../../daemon/proxy/start-proxy.ts";
import { configFile } from "../../home/config-file.ts";
import { CommandFailure } from "../../program/exit-codes.ts";

/** A reason why the daemon can't start that also holds for a process which only relays, or should not be got around. */
export class StartRefusal extends CommandFailure {}

/** Turns an expected reason why the daemon can't start into a message that says what to do. Returns other errors unchanged. */
export async function describeStartFailure(cause: unknown, config: Config, home: string): Promise<unknown> {
  if (cause instanceof NonLoopbackHostError) {
    return new StartRefusal(
      `${cause.message}. Anyone who can reach that address could use it.\nAllow it: HALTON_METER_ALLOW_NON_LOOPBACK=1 meter start`,
    );
  }
  if (cause instanceof ProxyListenError) {
    return new StartRefusal(
      cause.code === "EADDRINUSE" ? await portInUse("proxy", config.proxy.port, home) : `${cause.message}.`,
    );
  }
  if ((cause as NodeJS.ErrnoException).code === "EADDRINUSE")
    return new StartRefusal(await portInUse("api", config.api.port, home));
  if (cause instanceof CertificateStoreError || cause instanceof StoreError)
    return new CommandFailure(`${cause.message}.`);
  return cause;
}

const MAX_PORT = 65_535;

async function portInUse(section: "proxy" | "api", port: number, home: string): Promise<string> {
  const listener = await findListener(port);
  const by = listener === null ? "" : ` by ${listener.program ?? "a program"} (process ${listener.pid})`;
  const other = port < MAX_PORT ? port + 1 : port - 1;
  return `Port ${port} is already in use${by}. Set another one in ${configFile(home)}:\n\n[${section}]\nport = ${other}`;
}
