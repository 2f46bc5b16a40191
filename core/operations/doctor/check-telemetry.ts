import { formatQuantity } from "../../values/text/format-quantity.ts";
import type { DoctorFacts } from "./doctor-facts.ts";
import { type Finding, inconsistent, note, ok, restart } from "./finding.ts";

/** The command with which a program reports to the receiver. */
const report = { fixCommand: "meter run --telemetry -- <command>" };

/** Checks the receiver of OpenTelemetry. It is optional, so nothing is found if it is off. */
export function checkTelemetry({ telemetry }: DoctorFacts): Finding[] {
  if (telemetry === null) return [];
  const { configured, address, lastReportAt, refused, lastRefusal } = telemetry;
  if (configured !== (address !== null))
    return [
      inconsistent(
        "telemetry",
        configured
          ? "config.toml switches the receiver of OpenTelemetry on, but the running daemon does not receive."
          : "config.toml switches the receiver of OpenTelemetry off, but the running daemon still receives.",
        restart,
      ),
    ];
  if (address === null) return [];
  if (lastRefusal !== null)
    return [
      inconsistent(
        "telemetry",
        `${address} refused ${formatQuantity(refused, "payload")} since the daemon started. The last one: ${lastRefusal}`,
        report,
      ),
    ];
  return lastReportAt === null
    ? [note("telemetry", `${address} receives OpenTelemetry, but no client has reported yet.`, report)]
    : [
        ok(
          "telemetry",
          `${address} receives OpenTelemetry. Last report: ${new Date(lastReportAt).toISOString()}.`,
        ),
      ];
}
