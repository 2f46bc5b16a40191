import { Writable } from "node:stream";
import { main } from "../../../cli/meter-cloud/main.ts";
import type { Said } from "../run-command.rig.ts";

/** Runs a `meter-cloud` command line in this process. */
export async function runCloudWords(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Said> {
  const [stdout, stderr] = [collect(), collect()];
  const code = await main(words, { stdout: stdout.stream, stderr: stderr.stream, env });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collect(): { stream: Writable; text: () => string } {
  let text = "";
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return { stream, text: () => text };
}
