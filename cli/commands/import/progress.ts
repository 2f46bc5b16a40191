import type { Writable } from "node:stream";
import { formatBytes } from "../../../core/values/text/format-bytes.ts";

/** Shows the progress of an import. */
export interface Progress {
  onFile(agent: string): void;
  onBytes(bytes: number): void;
  end(): void;
}

/** The width of the bar in characters. */
const BAR = 24;

/** Creates a progress bar. Without a terminal, it shows nothing. */
export function createProgress(stderr: Writable, files: number, bytes: number): Progress {
  const isShown = "isTTY" in stderr && stderr.isTTY === true;
  if (!isShown || bytes === 0) return { onFile: () => {}, onBytes: () => {}, end: () => {} };
  let [file, done, shown, agent] = [0, 0, "", ""];
  const show = () => {
    const share = Math.min(1, done / bytes);
    const bar = "█".repeat(Math.round(share * BAR)).padEnd(BAR, "░");
    const percent = `${Math.floor(share * 100)} %`.padStart(5);
    const text = `${bar} ${percent}  ${agent}: file ${file} of ${files}, ${formatBytes(bytes)}`;
    if (text !== shown) stderr.write(`\r${text}\u001b[K`);
    shown = text;
  };
  return {
    onFile(name) {
      file += 1;
      agent = name;
      show();
    },
    onBytes(read) {
      done += read;
      show();
    },
    end: () => void stderr.write("\r\u001b[K"),
  };
}
