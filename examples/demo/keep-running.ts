import { heading, type Stage, say } from "./run-meter.ts";
import { ann } from "./show-cloud.ts";

/** If the arguments contain `--keep`, explains how to use and stop the running programs, and waits for Ctrl-C. */
export async function keepRunning(
  args: readonly string[],
  { home }: Stage,
  overviewUrl: string,
  interrupted: Promise<never>,
): Promise<void> {
  if (!args.includes("--keep")) return;
  heading("Still running, providers, cloud and all");
  say(`In another terminal, in this folder:

  export METER_HOME=${home}
  npx --no-install meter run -- node examples/demo/client-anthropic.ts
  npx --no-install meter explain last
  npx --no-install meter status

In a browser, which will ask about the certificate (an authority of this demo signed it):

  ${overviewUrl}
  ${ann.email}, ${ann.password}

Ctrl-C here stops the daemon, the cloud and the providers and removes that home.`);
  await interrupted.catch(() => {});
}
