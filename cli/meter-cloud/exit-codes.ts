import { exitCodes } from "../exit-codes.ts";

/** What the exit codes of `meter-cloud` mean. */
export const cloudExitCodes = {
  ok: exitCodes.ok,
  failed: exitCodes.failed,
  usage: exitCodes.usage,
  /** Starting again won't help: a service manager should not try. */
  badConfig: 3,
  notFound: exitCodes.notFound,
  /** A ledger was changed. */
  notIntact: 5,
} as const;

/** The same as a table for people. */
export const cloudExitCodeTable: readonly (readonly [code: number, meaning: string])[] = [
  [cloudExitCodes.ok, "done"],
  [cloudExitCodes.failed, "tried and failed: the message says why"],
  [cloudExitCodes.usage, "the command line is not understood"],
  [cloudExitCodes.badConfig, "the configuration is wrong: the message says where"],
  [cloudExitCodes.notFound, "no such workspace, person or other thing"],
  [cloudExitCodes.notIntact, "a ledger is not what was written"],
];
