import process from "node:process";
import { Command, Option, UsageError } from "clipanion";
import type { ConnectStatus } from "../../../core/wire/mod.ts";
import type { CloudControl } from "../../cloud-control.ts";
import { ConnectedCommand } from "../../connected-command.ts";
import { CommandFailure, exitCodes } from "../../exit-codes.ts";

/** How often the handshake is looked at, in milliseconds: on this machine alone, the cloud is not asked by it. */
const LOOK_MS = 300;

/** What the shell expects of a program that Ctrl-C ended. */
const INTERRUPTED = 130;

export class CloudConnectCommand extends ConnectedCommand {
  static override paths = [["cloud", "connect"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "connect this machine to a workspace",
    details: `
      Shows a code and a link; somebody who is signed in there approves it. Then metadata is sent: what exactly, says
      \`meter cloud privacy show\`. Where the machine is connected already, says so; --force pairs anew.
    `,
    examples: [
      ["The first time", "meter cloud connect --base-url https://meter.example.com"],
      ["Keep what was metered until now here", "meter cloud connect --from-now"],
    ],
  });

  baseUrl = Option.String("--base-url", { description: "the cloud's address; kept once connected" });
  force = Option.Boolean("--force", false, { description: "pair anew although the connection holds" });
  fromNow = Option.Boolean("--from-now", false, { description: "send nothing that was metered before" });

  protected override async perform(): Promise<number> {
    const { resolveBaseUrl } = await import("../../../core/config/mod.ts");
    const { renderHistory, renderPairingCode } = await import("../../render/cloud-connect.ts");
    const { printable } = await import("../../render/printable.ts");
    let baseUrl: string | null = null;
    if (this.baseUrl !== undefined) {
      const { url, warning } = resolveBaseUrl({ flag: this.baseUrl });
      if (url === null || warning !== null)
        throw new UsageError(
          warning?.replace("cloud.base_url", "--base-url") ?? "--base-url takes an address",
        );
      baseUrl = url;
    }
    const { force, fromNow } = this;
    const interruption = catchInterruption();
    const work = async (cloud: CloudControl): Promise<number> => {
      const giveUp = async () => {
        await cloud.cancelConnect();
        this.notice("given up");
        return INTERRUPTED;
      };
      const { paired, otherOrigin } = await cloud.state();
      const isNew = !paired && otherOrigin === null;
      const history =
        isNew || fromNow
          ? renderHistory(cloud.store.countPending(), cloud.store.oldestPendingAt(), fromNow)
          : null;
      const connecting = cloud.connect({ force, fromNow, ...(baseUrl !== null && { baseUrl }) });
      const begun = await Promise.race([connecting, interruption.come]);
      if (begun === "interrupted") {
        connecting.catch(() => {});
        return await giveUp();
      }
      switch (begun.kind) {
        case "no_base_url":
          throw new CommandFailure("no cloud is configured: give its address with --base-url https://…");
        case "failed":
          throw new CommandFailure(begun.message);
        case "connected": {
          const where = begun.workspaceName === null ? "" : ` to ${printable(begun.workspaceName)}`;
          this.print(`This machine is connected${where}. meter cloud connect --force pairs it anew.`);
          if (fromNow) this.notice("--from-now changes nothing while a connection holds: what waits is sent");
          return exitCodes.ok;
        }
        case "code":
          break;
      }
      if (history !== null) this.print(`${history}\n`);
      const { isTTY: isTerminal = false } = this.context.stdout as { isTTY?: boolean };
      this.print(renderPairingCode(begun.code, begun.verificationUrl, { width: this.width, isTerminal }));
      this.print("\nWaiting for the approval; Ctrl-C gives up.");
      const settled = await waitUntilSettled(cloud, interruption.come);
      if (settled === "interrupted") return await giveUp();
      if (settled.status !== "approved" && settled.status !== "connected")
        throw new CommandFailure(settled.message ?? `the pairing ended: ${settled.status}`);
      this.print(`Connected to ${printable(settled.workspace_name ?? "the workspace")}.`);
      if (cloud.daemon === null) this.print("meter start sends from now on; meter sync sends once.");
      return exitCodes.ok;
    };
    try {
      return await this.withCloud(work);
    } finally {
      interruption.stop();
    }
  }
}

/** Ctrl-C, which must not leave a handshake behind that somebody could approve later. */
function catchInterruption(): { come: Promise<"interrupted">; stop(): void } {
  const { promise: come, resolve } = Promise.withResolvers<"interrupted">();
  const interrupt = () => resolve("interrupted");
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  return { come, stop: () => void process.off("SIGINT", interrupt).off("SIGTERM", interrupt) };
}

/** How the handshake ended, unless the interruption came first. */
async function waitUntilSettled(
  cloud: CloudControl,
  interruption: Promise<"interrupted">,
): Promise<ConnectStatus | "interrupted"> {
  for (;;) {
    const status = await cloud.connectStatus();
    if (["approved", "connected", "denied", "expired", "failed", "idle"].includes(status.status))
      return status;
    const pause = new Promise<"next">((resolve) => setTimeout(resolve, LOOK_MS, "next"));
    if ((await Promise.race([pause, interruption])) === "interrupted") return "interrupted";
  }
}
