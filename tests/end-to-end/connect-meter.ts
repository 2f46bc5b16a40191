import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Person } from "../cloud/kit/person.ts";
import { meterWords, plainEnvironment } from "./meter-process.ts";

/** Pairs as people do: `meter cloud connect` shows a code and waits, and the person approves it. Gives what was printed. */
export async function connectMeter(
  home: string,
  baseUrl: string,
  person: Pick<Person, "approve">,
  words: readonly string[] = [],
): Promise<string> {
  const [command = "", ...rest] = meterWords;
  const child = spawn(command, [...rest, "cloud", "connect", "--base-url", baseUrl, ...words], {
    env: plainEnvironment({ METER_HOME: home }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let approval: Promise<void> | null = null;
  const take = (text: string) => {
    output += text;
    const [, code] = /\n {2}code {2}(\S+)\n[\s\S]*Ctrl-C/.exec(output) ?? [];
    if (code === undefined || approval !== null) return;
    approval = person.approve(code);
    // The command would wait until the code ends.
    approval.catch(() => child.kill("SIGKILL"));
  };
  child.stdout.setEncoding("utf8").on("data", take);
  child.stderr.setEncoding("utf8").on("data", take);
  const [code] = await once(child, "close");
  await approval;
  if (code !== 0) throw new Error(`meter cloud connect ended with ${code}: ${output}`);
  return output;
}
