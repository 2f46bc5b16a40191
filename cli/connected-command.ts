import type { CloudControl } from "./cloud-control.ts";
import { MeterCommand } from "./meter-command.ts";

/** What the commands share that work with the cloud's side of the home. */
export abstract class ConnectedCommand extends MeterCommand {
  /** Does the work by the daemon where one runs, else in this process; closes what was opened. */
  protected async withCloud<T>(work: (cloud: CloudControl) => Promise<T>): Promise<T> {
    const { meterHome } = await import("../adapters/files/mod.ts");
    const { withCloud } = await import("./cloud-control.ts");
    const { env } = this.context;
    return await withCloud({ home: meterHome(env), env, notice: this.notice }, work);
  }
}
