import { Command, Option } from "clipanion";
import { ConnectedCommand } from "../../connected-command.ts";
import { exitCodes } from "../../exit-codes.ts";

export class CloudStatusCommand extends ConnectedCommand {
  static override paths = [["cloud", "status"]];
  static override usage = Command.Usage({
    category: "Cloud",
    description: "whether this machine is connected, and what waits",
    details:
      "Begins with ACTIVE, DEGRADED, PAUSED or NOT-CONFIGURED. Ends with 1 when it is DEGRADED or PAUSED.",
    examples: [
      ["For people", "meter cloud status"],
      ["For programs", "meter cloud status --json"],
    ],
  });

  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<number> {
    const { meterHome } = await import("../../../adapters/files/mod.ts");
    const { bannerOf } = await import("../../../daemon/cloud/mod.ts");
    const { renderCloudStatus } = await import("../../render/cloud-status.ts");
    const { forPrograms } = await import("../../render/for-programs.ts");
    const { readConfig } = await import("../../read-config.ts");
    const { isAboutCloud } = await import("../../cloud-warnings.ts");
    const home = meterHome(this.context.env);
    return await this.withCloud(async (cloud) => {
      const snapshot = await cloud.state();
      const now = Date.now();
      const startedAt = cloud.daemon === null ? null : Date.parse(cloud.daemon.started_at);
      const captureFailing = await cloud.isCaptureFailing();
      const banner = bannerOf(snapshot, { runningSince: startedAt, captureFailing }, now);
      const warnings = (await readConfig(home, this.context.env)).warnings.filter(isAboutCloud);
      if (this.json) this.printJson({ ...banner, ...(forPrograms(snapshot) as object), warnings });
      else this.print(renderCloudStatus(snapshot, banner, warnings, now, this.width));
      return banner.banner === "PAUSED" || banner.banner === "DEGRADED" ? exitCodes.failed : exitCodes.ok;
    });
  }
}
