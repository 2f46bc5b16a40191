import { meterHome } from "../../../adapters/files/meter-home.ts";
import { parseClaudeInput, readInput } from "./claude-input.ts";
import { renderStatusline } from "./render-statusline.ts";
import { requestNow } from "./request-now.ts";

/** The streams and the environment of a status line. */
export interface StatuslineContext {
  readonly stdin: Parameters<typeof readInput>[0];
  readonly stdout: { write(text: string): unknown };
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What is printed if something unexpected fails. A prompt must not show an error. */
const NEUTRAL = "meter";

/** Prints one line. Never rejects. */
export async function printStatusline({ stdin, stdout, env }: StatuslineContext): Promise<void> {
  stdout.write(`${await render(stdin, env).catch(() => NEUTRAL)}\n`);
}

async function render(stdin: StatuslineContext["stdin"], env: StatuslineContext["env"]): Promise<string> {
  const input = parseClaudeInput(await readInput(stdin));
  const query = input?.sessionId == null ? "" : `?session=${encodeURIComponent(input.sessionId)}`;
  const now = await requestNow(meterHome(env), query);
  return renderStatusline(now, input, Date.now());
}
