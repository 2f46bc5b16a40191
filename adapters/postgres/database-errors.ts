import { DatabaseError, type DatabaseErrorReason } from "../../core/ports/postgres.ts";

/** Reasons by SQLSTATE; they take precedence over its class. Source: PostgreSQL 15, appendix A. */
const codes: Record<string, DatabaseErrorReason> = {
  "40001": "conflict",
  "40P01": "conflict",
  "55P03": "timeout",
  "57014": "timeout",
  "25P03": "timeout",
  "42501": "forbidden",
  // An internal error. A cluster reports a shard that was lost during the commit this way, and a later attempt finds its replacement.
  XX000: "unavailable",
};

/** Reasons by class: the first two characters of a SQLSTATE. */
const classes: Record<string, DatabaseErrorReason> = {
  "08": "unavailable",
  "22": "invalid_value",
  "23": "constraint",
  "53": "unavailable",
  "57": "unavailable",
  "58": "unavailable",
};

/** Error codes of the system and of postgres.js for a connection that failed. */
const noConnection = /^(?:E[A-Z]+|CONNECTION_[A-Z]+|CONNECT_TIMEOUT)$/;

/** Converts what a driver threw to the port's error. */
export function toDatabaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const { code, constraint_name, constraint, message } = (error ?? {}) as Record<string, unknown>;
  const word = typeof code === "string" ? code : null;
  // A cluster states the constraint of a shard only in the message.
  const rule = constraint_name ?? constraint ?? /constraint "([^"]+)"/.exec(String(message))?.[1];
  return new DatabaseError(reasonOf(word), {
    code: word,
    // There, the name ends in the number of its shard.
    constraint: typeof rule === "string" ? rule.replace(/_\d{6,}$/, "") : null,
    cause: error,
  });
}

function reasonOf(code: string | null): DatabaseErrorReason {
  if (code === null) return "other";
  if (noConnection.test(code)) return "unavailable";
  return codes[code] ?? classes[code.slice(0, 2)] ?? "other";
}
