import { findDaemon } from "../../daemon/daemon-process.ts";
import { httpAddress } from "../../daemon/own-address.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { daemonNotRunning } from "../../program/failures.ts";
import { openAddress } from "./open-address.ts";

/** The options of `meter open`. */
export interface OpenPageOptions {
  readonly printOnly: boolean;
}

/** Opens the local page in your browser. */
export async function openPage(context: CommandContext, options: OpenPageOptions): Promise<void> {
  const running = await findDaemon(context.home);
  if (running === null) {
    throw daemonNotRunning();
  }
  const address = `${httpAddress(running.api_host, running.api_port)}/`;
  const opened = !options.printOnly && (await openAddress(address, context.env));
  context.print(opened ? `Opened ${address}` : address);
}
