import type { Redact } from "../../privacy/redaction/redact.ts";
import type { ClientReport } from "./client-report.ts";

/** Returns the report without the names and ids that contain a secret. The key is unchanged; it is stored and compared as its hash. */
export function redactReport(report: ClientReport, redact: Redact): ClientReport {
  const { session, model, providerRequestId, responseId, querySource } = report;
  const texts = [session, model, providerRequestId, responseId, querySource];
  if (isClean(redact, texts.join("\n"))) return report;
  const kept = (text: string | null) => (text !== null && isClean(redact, text) ? text : null);
  return {
    ...report,
    session: kept(session),
    model: kept(model) ?? "unknown",
    providerRequestId: kept(providerRequestId),
    responseId: kept(responseId),
    querySource: kept(querySource),
  };
}

/** Whether a text contains no secret. The space after it marks it as not truncated. */
function isClean(redact: Redact, text: string): boolean {
  const redacted = redact(`${text} `);
  return redacted.ok && redacted.summary.length === 0;
}
