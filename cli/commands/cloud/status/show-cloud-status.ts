import { describeBanner } from "../../../../daemon/cloud/cloud-banner.ts";
import { withCloud } from "../../../cloud/cloud-control.ts";
import { isAboutCloud } from "../../../cloud/cloud-warnings.ts";
import { readConfigOrDefaults } from "../../../home/read-config.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { exitCodes } from "../../../program/exit-codes.ts";
import { forPrograms } from "../../../render/for-programs.ts";
import { renderCloudStatus } from "./render-cloud-status.ts";

/** The options of `meter cloud status`. */
export interface ShowCloudStatusOptions {
  readonly json: boolean;
}

/** Shows whether this machine is connected and what is pending. */
export async function showCloudStatus(
  context: CommandContext,
  options: ShowCloudStatusOptions,
): Promise<number> {
  const { env, home, notice } = context;
  return await withCloud(
    { home, env, notice, toleratesInvalidConfig: true, readsOnly: true },
    async (cloud) => {
      const snapshot = await cloud.state();
      const now = Date.now();
      const startedAt = cloud.daemon === null ? null : Date.parse(cloud.daemon.started_at);
      const captureFailing = await cloud.isCaptureFailing();
      const banner = describeBanner(snapshot, { runningSince: startedAt, captureFailing }, now);
      const read = await readConfigOrDefaults(home, env);
      const warnings = read.problem === null ? read.warnings.filter(isAboutCloud) : [read.problem];
      if (options.json) context.printJson({ ...banner, ...(forPrograms(snapshot) as object), warnings });
      else context.print(renderCloudStatus(snapshot, banner, warnings, now, context.width));
      const isFine = banner.banner === "ACTIVE" || banner.banner === "NOT-CONFIGURED";
      return isFine && read.problem === null ? exitCodes.ok : exitCodes.failed;
    },
  );
}
