import type { Writable } from "node:stream";
import type { Log } from "../../../core/ports/log.ts";
import { isAboutCloud } from "../../cloud/cloud-warnings.ts";
import { printableLines } from "../../render/printable.ts";

/** The warnings of a daemon. */
export interface DaemonWarnings {
  /** The warnings that `meter status` lists. The array is updated in place. */
  readonly current: string[];
  /** Writes a warning to standard error and the log. */
  report(warning: string): void;
  /** Reports a warning and lists it in `meter status`. */
  add(warning: string): void;
  /** Replaces the warnings about the cloud settings, which take effect without a restart; reports new ones. */
  replaceCloudWarnings(warnings: readonly string[]): void;
}

/** Creates the warnings of a daemon, which start with those of the configuration. */
export function createDaemonWarnings(
  stderr: Writable,
  log: Log,
  configWarnings: readonly string[],
): DaemonWarnings {
  const current = [...configWarnings];
  const report = (warning: string) => {
    stderr.write(`meter: ${printableLines(warning)}\n`);
    log.warn("daemon.warning", { warning });
  };
  return {
    current,
    report,
    add(warning) {
      report(warning);
      current.push(warning);
    },
    replaceCloudWarnings(warnings) {
      const aboutCloud = warnings.filter(isAboutCloud);
      for (const warning of aboutCloud) if (!current.includes(warning)) report(warning);
      const others = current.filter((each) => !isAboutCloud(each));
      current.splice(0, current.length, ...others, ...aboutCloud);
    },
  };
}
