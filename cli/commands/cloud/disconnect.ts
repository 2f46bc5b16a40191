import { Command } from "clipanion";
import { ConnectedCommand } from "../../connected-command.ts";

export class CloudDisconnectCommand extends ConnectedCommand {
  static override paths = [["cloud", "disconnect"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "revoke this machine's key and forget it",
    details: "Nothing is deleted at the cloud, and nothing that was metered here.",
    examples: [["Disconnect", "meter cloud disconnect"]],
  });

  protected override async perform(): Promise<void> {
    await this.withCloud(async (cloud) => {
      const result = await cloud.disconnect();
      if (result.kind === "not_connected") return this.print("This machine is not connected.");
      this.print("Disconnected. Metering goes on.");
      if (!result.revoked) {
        this.notice(
          `the key could not be revoked (${result.error}): it is deleted here, and whoever has a copy can still use it; revoke it in the dashboard`,
        );
      }
    });
  }
}
