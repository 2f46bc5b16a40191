import type { Config } from "../../../core/operations/config/config.ts";
import { CertificateStoreError } from "../../../core/ports/certificates.ts";
import { StoreError } from "../../../core/ports/sqlite.ts";
import { NonLoopbackHostError } from "../../../daemon/proxy/listen-host.ts";
import { ProxyListenError } from "../../../daemon/proxy/start-proxy.ts";
import { configFile } from "../../home/config-file.ts";
import { CommandFailure } from "../../program/exit-codes.ts";

/** Turns an expected reason why the daemon can't start into a message that says what to do. Returns other errors unchanged. */
export function describeStartFailure(cause: unknown, config: Config, home: string): unknown {
  if (cause instanceof NonLoopbackHostError) {
    return new CommandFailure(
      `${cause.message}. Anyone who can reach that address could use it.\nAllow it: HALTON_METER_ALLOW_NON_LOOPBACK=1 meter start`,
    );
  }
  if (cause instanceof ProxyListenError) {
    return new CommandFailure(
      cause.code === "EADDRINUSE" ? portInUse("proxy", config.proxy.port, home) : `${cause.message}.`,
    );
  }
  if ((cause as NodeJS.ErrnoException).code === "EADDRINUSE")
    return new CommandFailure(portInUse("api", config.api.port, home));
  if (cause instanceof CertificateStoreError || cause instanceof StoreError)
    return new CommandFailure(`${cause.message}.`);
  return cause;
}

const MAX_PORT = 65_535;

const portInUse = (section: "proxy" | "api", port: number, home: string) =>
  `Port ${port} is already in use. Set another one in ${configFile(home)}:\n\n[${section}]\nport = ${port < MAX_PORT ? port + 1 : port - 1}`;
