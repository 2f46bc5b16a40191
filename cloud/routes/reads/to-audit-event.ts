import { formatInstant } from "../../../core/wire/instant.ts";
import type { AuditEventRow } from "../../store/reads/audit.ts";

/** Converts a stored audit event to its wire format. */
export const toAuditEvent = (row: AuditEventRow) => ({
  event_id: row.event_id,
  at: formatInstant(row.at),
  kind: row.kind,
  actor_user_id: row.actor_user_id,
  details: row.details,
  retain_until: formatInstant(row.retain_until),
});
