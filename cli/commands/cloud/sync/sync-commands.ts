import { Command, Option } from "clipanion";
import { MeterCommand } from "../../../program/meter-command.ts";

export class CloudSyncCommand extends MeterCommand {
  static override paths = [["cloud", "sync"], ["sync"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "Send all pending records now",
    details:
      "Sends metadata first, then bodies if body upload is on. The daemon sends them if it is running, otherwise this command does.",
    examples: [["Send once", "meter cloud sync"]],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<number> {
    const { sendPending } = await import("./send-pending.ts");
    return await sendPending(this.commandContext, this);
  }
}

export class CloudPauseCommand extends MeterCommand {
  static override paths = [["cloud", "pause"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "Stop sending to the cloud until resumed",
    details: "Metering continues. Records stored while paused are sent after `meter cloud resume`.",
    examples: [["Pause sending", "meter cloud pause"]],
  });

  protected override async perform(): Promise<void> {
    const { pauseSync } = await import("./pause-sync.ts");
    return await pauseSync(this.commandContext);
  }
}

export class CloudResumeCommand extends MeterCommand {
  static override paths = [["cloud", "resume"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "Resume sending after a pause",
    details:
      "If the cloud refused this machine's key, sending resumes only once the cloud accepts the key again.",
    examples: [["Resume sending", "meter cloud resume"]],
  });

  protected override async perform(): Promise<void> {
    const { resumeSync } = await import("./resume-sync.ts");
    return await resumeSync(this.commandContext);
  }
}
