import { findDaemon } from "../../daemon/daemon-process.ts";
import { httpAddress } from "../../daemon/own-address.ts";
import { startDaemonOf } from "../../daemon/start-daemon.ts";
import { databaseBytes } from "../../home/database-file.ts";
import { readConfigOrDefaults } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { exitCodes } from "../../program/exit-codes.ts";
import { version } from "../../program/version.ts";
import { offerImport } from "../../records/offer-import.ts";
import { runImport } from "../run-import.ts";
import { passwordNotice } from "./proxy-login.ts";

/** Starts the daemon in the background and returns the exit code. */
export async function startInBackground(
  context: CommandContext,
  home: string,
  isImportWanted: boolean | undefined,
): Promise<number> {
  const running = await findDaemon(home);
  if (running !== null) {
    context.print(
      `The daemon is already running: process ${running.pid}, proxy on port ${running.proxy_port}.`,
    );
    if (running.version !== version)
      context.print(`The installed version is ${version}. Restart the daemon: meter stop && meter start`);
    return exitCodes.ok;
  }
  const isFirst = databaseBytes(home) === 0;
  const { daemon, byService } = await startDaemonOf(home, context.env);
  const verdict = daemon.isDegraded ? "Started, but DEGRADED." : "Metering.";
  for (const warning of (await readConfigOrDefaults(home, context.env)).warnings) context.notice(warning);
  context.print(`${verdict} Proxy: ${httpAddress(daemon.proxy_host, daemon.proxy_port)}  Home: ${home}`);
  if (daemon.password_file !== undefined) context.print(passwordNotice(daemon.password_file, context.stdout));
  if (daemon.isDegraded) context.print("Find out why: meter status");
  if (byService) context.print("A service keeps it running. Stop both: meter stop");
  context.print("Run a program through it: meter run -- <command>");
  if (isFirst || isImportWanted === true)
    await offerImport(context, { isWanted: isImportWanted }, () => runImport(context, home));
  return daemon.isDegraded ? exitCodes.failed : exitCodes.ok;
}
