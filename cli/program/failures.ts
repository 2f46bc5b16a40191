import { CommandFailure, exitCodes } from "./exit-codes.ts";

/** The line that ends an empty list if nothing has been metered yet. */
export const METER_A_PROGRAM = "Meter a program: meter run -- <command>";

/** Creates the failure of a command that needs the daemon. */
export const daemonNotRunning = (): CommandFailure =>
  new CommandFailure("The daemon is not running.\nStart it: meter start", exitCodes.notRunning);

/** Creates the failure of a command because the daemon's response is an error or can't be read. */
export const unexpectedDaemonResponse = (problem: string): CommandFailure =>
  new CommandFailure(`${problem}\nRestart the daemon: meter stop && meter start`);

/** Creates the failure of a command that needs a connection to a cloud. */
export const notConnected = (): CommandFailure =>
  new CommandFailure("This machine is not connected.\nConnect it: meter cloud connect");

/** Creates the failure of a command because the cloud can't be reached. */
export const cloudUnreachable = (error: string): CommandFailure =>
  new CommandFailure(`The cloud can't be reached: ${error}.`);
