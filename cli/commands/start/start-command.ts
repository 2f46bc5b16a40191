import { resolve } from "node:path";
import { Command, Option } from "clipanion";
import { OR_RELAY } from "../../../core/operations/install/service-files.ts";
import { MeterCommand } from "../../program/meter-command.ts";

export class StartCommand extends MeterCommand {
  static override paths = [["start"]];
  static override usage = Command.Usage({
    category: "Daemon",
    description: "Start the daemon in the background",
    details: `
      The daemon runs the proxy and stores one record per request, until \`meter stop\`. Its addresses are set in
      \`config.toml\` and shown by \`meter status\`.
    `,
    examples: [
      ["Start in the background", "meter start"],
      ["Stay in the foreground, for a service manager", "meter start --foreground"],
    ],
  });

  foreground = Option.Boolean("--foreground", false, {
    description: "Run in this process until it is stopped",
  });

  import = Option.Boolean("--import", {
    description:
      "Import past usage from the logs of agents; --no-import: don't ask (asked at the first start)",
  });

  home = Option.String("--home", {
    description: "The home, for callers that can't set METER_HOME",
    hidden: true,
  });

  relayOnly = Option.Boolean("--relay-only", false, {
    description:
      "Relay without metering, as supervise.sh does while the daemon keeps crashing or can't start",
    hidden: true,
  });

  orRelay = Option.Boolean(OR_RELAY, false, {
    description: "With --foreground: relay without metering while the daemon can't start",
    hidden: true,
  });

  protected override async perform(): Promise<number> {
    const context = this.commandContext;
    const home = this.home === undefined ? context.home : resolve(this.home);
    if (this.relayOnly)
      return (await import("./run-relay-only.ts")).runRelayOnly(home, context.env, context.stderr);
    if (this.foreground)
      return (await import("./run-in-foreground.ts")).runInForeground(context, home, this.orRelay);
    return (await import("./start-in-background.ts")).startInBackground(context, home, this.import);
  }
}
