import { findReportFiles } from "../../../../adapters/agent-logs/find-log-files.ts";
import { readLogLines } from "../../../../adapters/agent-logs/read-log-lines.ts";
import { sha256Hex } from "../../../../adapters/crypto/node-crypto.ts";
import { parseJson } from "../../../../core/metering/agent-logs/readers/members.ts";
import type { ClientReport } from "../../../../core/metering/client-reports/client-report.ts";
import { readCopilotLine } from "../../../../core/metering/client-reports/copilot-span.ts";
import { redactReport } from "../../../../core/metering/client-reports/redact-report.ts";
import type { Redact } from "../../../../core/privacy/redaction/redact.ts";
import type { Millis } from "../../../../core/values/time.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { findReportLocations } from "../../../records/offer-import.ts";

/** The requests that clients state in files, and the files that could not be read. */
interface FileReports {
  /** Their keys are hashes, as those of the stored reports. */
  readonly reports: readonly ClientReport[];
  readonly problems: readonly { readonly path: string; readonly reason: string }[];
}

/**
 * Reads what clients report in files, for a period, without names and ids that contain a secret. A line that is not JSON is left
 * out: the last one may still be written.
 */
export async function readReportFiles(
  env: CommandContext["env"],
  from: Millis,
  to: Millis,
  redact: Redact,
): Promise<FileReports> {
  const reports = new Map<string, ClientReport>();
  const problems: { path: string; reason: string }[] = [];
  for (const { path, modifiedAt } of await findReportFiles(findReportLocations(env))) {
    if (modifiedAt < from) continue;
    const onLine = (text: string) => {
      const report = readCopilotLine(parseJson(text));
      if (report === null || report.at < from || report.at >= to) return;
      const key = sha256Hex(report.key);
      reports.set(key, { ...redactReport(report, redact), key });
    };
    try {
      await readLogLines(path, { needles: ["gen_ai.usage"], from: null }, () => ({ onLine, onTooLong() {} }));
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      if (code === undefined) throw cause;
      problems.push({ path, reason: code });
    }
  }
  return { reports: [...reports.values()], problems };
}
