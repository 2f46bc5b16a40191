import { Command } from "clipanion";
import { MeterCommand } from "../../meter-command.ts";

export class CloudDisconnectCommand extends MeterCommand {
  static override paths = [["cloud", "disconnect"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "revoke this machine's key and forget it",
    details: "Nothing is deleted at the cloud, and nothing that was metered here.",
    examples: [["Disconnect", "meter cloud disconnect"]],
  });

  protected override async perform(): Promise<void> {
    const { meterHome } = await import("../../../adapters/files/mod.ts");
    const { withCloud } = await import("../../cloud-control.ts");
    const home = meterHome(this.context.env);
    await withCloud({ home, env: this.context.env, notice: this.notice }, async (cloud) => {
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
