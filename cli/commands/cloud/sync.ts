import { Command, Option } from "clipanion";
import { ConnectedCommand } from "../../connected-command.ts";
import { CommandFailure, exitCodes } from "../../exit-codes.ts";

const NOT_CONNECTED = "this machine is not connected: meter cloud connect";

export class CloudSyncCommand extends ConnectedCommand {
  static override paths = [["cloud", "sync"], ["sync"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "send everything that waits, now",
    details:
      "Metadata first, then bodies where their upload is on. A running daemon does it; without one this command does.",
    examples: [["Once", "meter sync"]],
  });

  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<number> {
    const { count } = await import("../../render/count.ts");
    const { forPrograms } = await import("../../render/for-programs.ts");
    const { withProgress } = await import("../../with-progress.ts");
    return await this.withCloud(async (cloud) => {
      const tell = async () => {
        const { sync } = await cloud.state();
        if (sync.pending > 0) this.notice(`${count(sync.pending)} requests are still to be sent`);
      };
      const isWatched = "isTTY" in this.context.stderr && this.context.stderr.isTTY === true;
      const syncing = cloud.syncNow();
      const result = await (isWatched ? withProgress(syncing, tell) : syncing);
      if (this.json) this.printJson(forPrograms(result));
      else if (result.kind === "not_connected") throw new CommandFailure(NOT_CONNECTED);
      else {
        const { accepted, duplicates, quarantined, message } = result.report;
        const parts = [`${count(accepted)} sent`];
        if (duplicates > 0) parts.push(`${count(duplicates)} were there already`);
        if (quarantined > 0) parts.push(`${count(quarantined)} refused (meter cloud quarantine list)`);
        this.print(`Requests: ${parts.join(", ")}.`);
        if (result.bodies !== null) {
          const { uploaded, policyRejected, quarantined: refused, pending, lastError } = result.bodies;
          const more = [`${count(uploaded)} sent`, `${count(pending)} waiting`];
          if (policyRejected > 0) more.push(`${count(policyRejected)} kept back by the workspace's policy`);
          if (refused > 0) more.push(`${count(refused)} refused (meter cloud quarantine list)`);
          this.print(`Bodies: ${more.join(", ")}.`);
          if (lastError !== null) this.notice(`bodies: ${lastError}`);
        }
        if (!result.report.ok) throw new CommandFailure(`not everything was sent: ${message}`);
      }
      return result.kind === "synced" ? exitCodes.ok : exitCodes.failed;
    });
  }
}

export class CloudPauseCommand extends ConnectedCommand {
  static override paths = [["cloud", "pause"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "send nothing until resume",
    details: "Metering goes on; what is metered meanwhile is sent after `meter cloud resume`.",
    examples: [["Stop sending", "meter cloud pause"]],
  });

  protected override async perform(): Promise<void> {
    await this.withCloud(async (cloud) => {
      const { kind, pausedReason } = await cloud.pause();
      this.print(
        kind === "paused" ? "Paused. meter cloud resume goes on." : `It is paused already (${pausedReason}).`,
      );
    });
  }
}

export class CloudResumeCommand extends ConnectedCommand {
  static override paths = [["cloud", "resume"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "go on after a pause",
    details: "A pause that the cloud caused ends only once the cloud takes the key again.",
    examples: [["Go on", "meter cloud resume"]],
  });

  protected override async perform(): Promise<void> {
    await this.withCloud(async (cloud) => {
      const { ok, message } = await cloud.resume();
      if (!ok) throw new CommandFailure(message);
      this.print("Resumed.");
    });
  }
}
