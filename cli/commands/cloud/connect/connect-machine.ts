import process from "node:process";
import { UsageError } from "clipanion";
import { resolveBaseUrl } from "../../../../core/operations/config/base-url.ts";
import type { ConnectStatus } from "../../../../core/wire/loopback.ts";
import { type CloudControl, withCloud } from "../../../cloud/cloud-control.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../../program/exit-codes.ts";
import { printable } from "../../../render/printable.ts";
import { renderHistory, renderPairingCode } from "./render-pairing.ts";

/** The options of `meter cloud connect`. */
export interface ConnectMachineOptions {
  readonly baseUrl: string | undefined;
  readonly force: boolean;
  readonly fromNow: boolean;
}

/** How often the pairing status is polled, in milliseconds. It is read on this machine, not from the cloud. */
const POLL_MS = 300;

/** The conventional exit code after SIGINT. */
const INTERRUPTED = 130;

/** Connects this machine to a workspace. */
export async function connectMachine(
  context: CommandContext,
  options: ConnectMachineOptions,
): Promise<number> {
  const baseUrl = readBaseUrl(options.baseUrl);
  const interruption = catchInterruption();
  try {
    return await withCloud(context, async (cloud) => {
      const outcome = await pair(context, cloud, { ...options, baseUrl }, interruption.interrupted);
      if (outcome !== "interrupted") return outcome;
      await cloud.cancelConnect();
      context.notice("Pairing was cancelled.");
      return INTERRUPTED;
    });
  } finally {
    interruption.stop();
  }
}

function readBaseUrl(given: string | undefined): string | null {
  if (given === undefined) return null;
  const { url, warning } = resolveBaseUrl({ flag: given });
  if (url === null || warning !== null)
    throw new UsageError(
      warning?.replace("cloud.base_url", "--base-url") ??
        "--base-url needs an address, such as https://meter.example.com.",
    );
  return url;
}

/** Pairs this machine and returns the exit code, or `interrupted` if Ctrl-C was pressed before it was approved. */
async function pair(
  context: CommandContext,
  cloud: CloudControl,
  { baseUrl, force, fromNow }: { baseUrl: string | null; force: boolean; fromNow: boolean },
  interrupted: Promise<"interrupted">,
): Promise<number | "interrupted"> {
  const { paired, otherOrigin, baseUrl: configured } = await cloud.state();
  const isNew = !paired && otherOrigin === null;
  const history =
    isNew || fromNow
      ? renderHistory(cloud.store.delivery.countPending(), cloud.store.delivery.oldestPendingAt(), fromNow)
      : null;
  const connecting = cloud.connect({ force, fromNow, ...(baseUrl !== null && { baseUrl }) });
  const begun = await Promise.race([connecting, interrupted]);
  if (begun === "interrupted") {
    connecting.catch(() => {});
    return begun;
  }
  if (begun.kind === "no_base_url")
    throw new CommandFailure(
      "No cloud is configured.\nGive its address: meter cloud connect --base-url https://…",
    );
  if (begun.kind === "failed") {
    const address = baseUrl ?? configured;
    throw new CommandFailure(
      `Could not connect to ${address ?? "the cloud"}: ${begun.message}.${address === null ? "" : `\nCheck that the cloud answers there: curl ${address}/healthz`}`,
    );
  }
  if (begun.kind === "connected") {
    const where = begun.workspaceName === null ? "" : ` to ${printable(begun.workspaceName)}`;
    context.print(`This machine is already connected${where}.\nPair it again: meter cloud connect --force`);
    await printPause(context, cloud);
    if (fromNow)
      context.notice("--from-now has no effect on an existing connection: pending requests are sent.");
    return exitCodes.ok;
  }
  if (history !== null) context.print(`${history}\n`);
  const { isTTY: isTerminal = false } = context.stdout as { isTTY?: boolean };
  const { width } = context;
  context.print(renderPairingCode(begun.code, begun.verificationUrl, { width, isTerminal }));
  context.print("\nWaiting for approval. Press Ctrl-C to cancel.");
  const settled = await waitUntilSettled(cloud, interrupted);
  if (settled === "interrupted") return settled;
  if (settled.status !== "approved" && settled.status !== "connected")
    throw new CommandFailure(settled.message ?? `Pairing failed: ${settled.status}.`);
  await printConnection(context, cloud, settled);
  return exitCodes.ok;
}

async function printConnection(
  context: CommandContext,
  cloud: CloudControl,
  { workspace_name: workspaceName }: ConnectStatus,
): Promise<void> {
  context.print(`Connected to ${printable(workspaceName ?? "the workspace")}.`);
  const found = await cloud.whoami();
  const owner = found.kind === "valid" ? found.whoami.user : null;
  if (owner !== null)
    context.print(`Requests and prompts of this machine belong to ${printable(owner.name || owner.id)}.`);
  const isPaused = await printPause(context, cloud);
  if (cloud.daemon === null && !isPaused)
    context.print(
      "Nothing is sent while the daemon is not running.\nStart it: meter start\nSend once: meter sync",
    );
}

/** Prints that sync is paused, if it is: an existing connection ends no pause, and a new one does not end a pause set by the user. */
async function printPause(context: CommandContext, cloud: CloudControl): Promise<boolean> {
  const { pausedReason } = (await cloud.state()).sync;
  if (pausedReason === null) return false;
  context.print(`Sync is paused (${pausedReason}); nothing is sent.\nResume: meter cloud resume`);
  return true;
}

/** Catches Ctrl-C: a pairing code must be cancelled, or it could still be approved after the command ended. */
function catchInterruption(): { interrupted: Promise<"interrupted">; stop(): void } {
  const { promise: interrupted, resolve } = Promise.withResolvers<"interrupted">();
  const interrupt = () => resolve("interrupted");
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  return { interrupted, stop: () => void process.off("SIGINT", interrupt).off("SIGTERM", interrupt) };
}

/** Waits until the pairing has ended or was interrupted. */
async function waitUntilSettled(
  cloud: CloudControl,
  interruption: Promise<"interrupted">,
): Promise<ConnectStatus | "interrupted"> {
  for (;;) {
    const status = await cloud.connectStatus();
    if (["approved", "connected", "denied", "expired", "failed", "idle"].includes(status.status))
      return status;
    const pause = new Promise<"next">((resolve) => setTimeout(resolve, POLL_MS, "next"));
    if ((await Promise.race([pause, interruption])) === "interrupted") return "interrupted";
  }
}
