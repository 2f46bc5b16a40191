import { Command, Option } from "clipanion";
import { CommandFailure, exitCodes } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";

export class StatusCommand extends MeterCommand {
  static override paths = [["status"]];
  static override usage = Command.Usage({
    category: "Daemon",
    description: "whether it meters, and what it does not",
    details:
      "Ends with 3 when the daemon is not running, and with 1 when it runs and does not answer or can't store what it meters.",
    examples: [
      ["For people", "meter status"],
      ["For programs", "meter status --json"],
    ],
  });

  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<number> {
    const { meterHome } = await import("../../adapters/files/meter-home.ts");
    const { findDaemon, findHolder, readToken } = await import("../daemon-process.ts");
    const { askDaemon, keepConnection } = await import("../loopback-client.ts");
    const { version } = await import("../version.ts");
    const { databaseBytes } = await import("../database-file.ts");
    const { installedService } = await import("../installed-service.ts");
    const { forPrograms } = await import("../render/for-programs.ts");
    const { toPaste } = await import("../program-word.ts");
    const { troubleOf } = await import("../../daemon/daemon-status.ts");
    const { wrapLine } = await import("../render/wrap.ts");
    const { renderStatus } = await import("../render/status.ts");
    const home = meterHome(this.context.env);
    const connection = keepConnection();
    const running = await findDaemon(home, { connection });
    const service = await installedService(home);
    let status = null;
    if (running !== null) {
      const answer = await askDaemon(running, "/v1/status", readToken(home), { connection });
      connection.close();
      if (answer.status !== 200)
        throw new CommandFailure(`the daemon answered ${answer.status}: ${answer.body}`);
      status = JSON.parse(answer.body);
    }
    const holder = running === null ? await findHolder(home) : null;
    if (this.json)
      this.printJson({
        running: status !== null,
        // A daemon that holds this home and can't be asked.
        held_by: holder,
        installed_version: version,
        home,
        service: service?.manager ?? null,
        daemon: forPrograms(status),
        database_bytes: databaseBytes(home),
      });
    else {
      const text = renderStatus({
        home,
        version,
        running,
        status,
        service,
        holder,
        databaseBytes: databaseBytes(home),
        now: Date.now(),
      });
      for (const line of toPaste(text, this.context.env).split("\n")) this.print(wrapLine(line, this.width));
    }
    if (status === null) return holder === null ? exitCodes.notRunning : exitCodes.failed;
    return troubleOf(status) === null ? exitCodes.ok : exitCodes.failed;
  }
}
