import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import process from "node:process";
import { Command, Option, UsageError } from "clipanion";
import { CommandFailure, exitCodes } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";

export class RunCommand extends MeterCommand {
  static override paths = [["run"]];
  static override usage = Command.Usage({
    category: "Metering",
    description: "run one program through the meter",
    details: `
      Sets the proxy and certificate variables for this program and those that it starts, and for nobody else.
      Ends with the program's own exit code. Programs that ignore proxies need the gateway; see the README.
    `,
    examples: [
      ["Meter a script", "meter run -- node agent.ts"],
      ["Meter a coding agent", "meter run -- claude"],
      ["Name the project yourself", "meter run --project billing -- python3 job.py"],
      ["See what would be set", "meter run -- env"],
    ],
  });

  project = Option.String("--project", { description: "the project that the calls are booked on" });
  // A positional of its own, since an option can't stand before what takes all words.
  program = Option.String({ name: "command" });
  words = Option.Proxy({ name: "words" });

  protected override async perform(): Promise<number> {
    const { program, words } = this;
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { authorityFiles } = await import("../home.ts");
    const { findDaemon } = await import("../daemon-process.ts");
    const { hostsPastProxy, knownToIgnoreProxy, runEnvironment, trustVariables } = await import(
      "../run-environment.ts"
    );
    const { normaliseSlug } = await import("../../core/slug/mod.ts");
    if (program === "") throw new UsageError("name the program to run");
    if (this.project !== undefined && normaliseSlug(this.project) === "")
      throw new UsageError(`not a project name: ${JSON.stringify(this.project)}`);
    const home = meterHome(this.context.env);
    const running = await findDaemon(home);
    if (running === null) {
      throw new CommandFailure("the daemon is not running: start it with meter start", exitCodes.notRunning);
    }
    const { caFolder, caFile } = authorityFiles(home);
    const trusted = trustVariables.flatMap((name) => this.context.env[name] ?? []);
    const { bundleFor } = await import("../trust-bundle.ts");
    const env = runEnvironment(this.context.env, {
      proxyHost: running.proxy_host,
      proxyPort: running.proxy_port,
      caFile,
      bundleFile: bundleFor(caFolder, caFile, trusted),
      project: this.project ?? null,
    });
    const warning = knownToIgnoreProxy(program, nodeVersionOf(program, env));
    if (warning !== null) this.notice(`this call will not be metered: ${warning}`);

    if (this.context.env.NO_PROXY ?? this.context.env.no_proxy) {
      const { createRegistry } = await import("../../core/usage/mod.ts");
      const { readConfig } = await import("../read-config.ts");
      const { config } = await readConfig(home, this.context.env);
      const { hosts } = createRegistry(config.providers, { deployments: config.azureDeployments });
      const past = hostsPastProxy(this.context.env, hosts);
      const more = past.length > 3 ? ` and ${past.length - 3} more` : "";
      if (past.length > 0)
        this.notice(`NO_PROXY keeps calls to ${past.slice(0, 3).join(", ")}${more} from being metered`);
    }

    const child = spawn(program, words, { stdio: "inherit", env });
    // The terminal's own signals reach the child by themselves; those sent to us alone are passed on.
    const passOn = (signal: NodeJS.Signals) => child.kill(signal);
    const ignore = () => {};
    process.on("SIGTERM", passOn).on("SIGHUP", passOn).on("SIGINT", ignore);
    try {
      const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
      return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      this.notice(`${program}: ${code === "ENOENT" ? "not found" : (cause as Error).message}`);
      return code === "ENOENT" ? 127 : 126;
    } finally {
      process.off("SIGTERM", passOn).off("SIGHUP", passOn).off("SIGINT", ignore);
    }
  }
}

/** What the `node` that the program runs on says of itself, or null where the program is another or says nothing. */
function nodeVersionOf(program: string, env: Record<string, string | undefined>): string | null {
  const name = program.split(/[\\/]/).pop() as string;
  if (!/^(node|npm|npx|tsx|ts-node)(\.exe|\.cmd)?$/i.test(name)) return null;
  try {
    const node = /^node/i.test(name) ? program : "node";
    return execFileSync(node, ["--version"], {
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return null;
  }
}
