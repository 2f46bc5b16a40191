import { exitCodes } from "../program/exit-codes.ts";

/** The exit codes of `meter-cloud`. */
export const cloudExitCodes = {
  ok: exitCodes.ok,
  failed: exitCodes.failed,
  usage: exitCodes.usage,
  /** A restart won't help, so a service manager should not try one. */
  badConfig: 3,
  notFound: exitCodes.notFound,
  /** A ledger was changed, or a restored database differs from its backup. */
  notIntact: 5,
} as const;

/** The exit codes with their meanings, for help texts. */
export const cloudExitCodeTable: readonly (readonly [code: number, meaning: string])[] = [
  [cloudExitCodes.ok, "success"],
  [cloudExitCodes.failed, "failure; the message says why"],
  [cloudExitCodes.usage, "invalid command line"],
  [cloudExitCodes.badConfig, "invalid configuration; the message says where"],
  [cloudExitCodes.notFound, "no such workspace, account or other object"],
  [cloudExitCodes.notIntact, "a ledger was changed, or a restored database differs from its backup"],
];
