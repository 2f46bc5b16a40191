import { existsSync } from "node:fs";
import { keepConnection } from "../../../adapters/http/request-loopback.ts";
import { findDaemonFault } from "../../../daemon/api/daemon-status.ts";
import { readToken } from "../../daemon/daemon-process.ts";
import { findDaemonOrHolder, waitForToken } from "../../daemon/find-holder.ts";
import { requestDaemon } from "../../daemon/loopback-client.ts";
import { findUnmeteredRelay } from "../../daemon/supervision.ts";
import { configFile } from "../../home/config-file.ts";
import { databaseBytes } from "../../home/database-file.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { exitCodes } from "../../program/exit-codes.ts";
import { unexpectedDaemonResponse } from "../../program/failures.ts";
import { withProgramName } from "../../program/program-name.ts";
import { version } from "../../program/version.ts";
import { forPrograms } from "../../render/for-programs.ts";
import { wrapLine } from "../../render/wrap.ts";
import { installedService } from "./installed-service.ts";
import { renderStatus } from "./render-status.ts";

/** The options of `meter status`. */
export interface ShowStatusOptions {
  readonly json: boolean;
}

/** Shows whether metering works, and what is not metered. */
export async function showStatus(context: CommandContext, options: ShowStatusOptions): Promise<number> {
  const { home } = context;
  const connection = keepConnection();
  const { running, holder } = await findDaemonOrHolder(home, { connection });
  const service = await installedService(home);
  let status = null;
  if (running !== null) {
    await waitForToken(home);
    const answer = await requestDaemon(running, "/v1/status", readToken(home), { connection });
    connection.close();
    if (answer.status !== 200)
      throw unexpectedDaemonResponse(`The daemon answered ${answer.status}: ${answer.body}`);
    status = JSON.parse(answer.body);
  }
  const relay = running === null ? await findUnmeteredRelay(home) : null;
  const configWarnings = running === null ? await readConfigWarnings(context) : [];
  if (options.json)
    context.printJson({
      running: status !== null,
      // A daemon that holds this home and can't be asked.
      held_by: holder === null ? null : { pid: holder.pid },
      // A process that relays without metering, because the daemon keeps crashing or can't start.
      unmetered_relay: relay,
      installed_version: version,
      home,
      service: service?.manager ?? null,
      // A running daemon states its own.
      config_warnings: configWarnings,
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
      relay,
      configWarnings,
      databaseBytes: databaseBytes(home),
      now: Date.now(),
    });
    for (const line of withProgramName(text, context.env).split("\n"))
      context.printAsIs(wrapLine(line, context.width));
  }
  if (status === null) return holder === null ? exitCodes.notRunning : exitCodes.failed;
  return findDaemonFault(status) === null ? exitCodes.ok : exitCodes.failed;
}

/** Reads what is wrong with `config.toml`. The parser, which takes time to start, is loaded only if there is such a file. */
async function readConfigWarnings({ home, env }: CommandContext): Promise<readonly string[]> {
  if (!existsSync(configFile(home))) return [];
  const { readConfigOrDefaults } = await import("../../home/read-config.ts");
  const { warnings, problem } = await readConfigOrDefaults(home, env);
  return problem === null ? warnings : [problem];
}
