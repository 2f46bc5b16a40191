import { DAY_MS } from "../../values/time.ts";
import type { DoctorFacts } from "./doctor-facts.ts";
import { broken, type Finding, inconsistent, note, ok, restart, splitProblem, start } from "./finding.ts";

/** Age in days at which rates are reported as old. Decision: providers change prices a few times a year. */
export const STALE_RATES_DAYS = 90;

/** Free disk space, in bytes, below which disk space is reported as low. Decision. */
export const LOW_DISK_BYTES = 500 * 1024 * 1024;
/** Free disk space, in bytes, below which capture is about to stop. Decision. */
export const FULL_DISK_BYTES = 20 * 1024 * 1024;

/**
 * How far in the future a stored request may be, in milliseconds. Source: docs/specification.md#metadata-batch: a client
 * clock off by more than 23 hours is flagged.
 */
export const CLOCK_TOLERANCE_MS = 23 * 3_600_000;

/**
 * Maximum size of a database whose pages are checked, in bytes. Decision: reading 2 GiB takes a few seconds, and the doctor
 * has 15.
 */
export const MAX_CHECKED_BYTES = 2 ** 31;

/** Minimum size, in bytes, of a database that the doctor suggests to prune when the disk is nearly full. Decision. */
export const LARGE_DATABASE_BYTES = 100 * 1024 * 1024;

/**
 * How many requests may wait to be summed up. Decision: a daemon sums up 1,000 in 20 ms, so more wait only for half a minute after an
 * update, or if it can't.
 */
export const MAX_UNSUMMED_REQUESTS = 10_000;

/** Age, in days, of the records that the doctor suggests to delete when the disk is nearly full. */
const PRUNE_AFTER_DAYS = 90;

const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Returns the command that sets the system clock from the network. */
const setClockCommand = (platform: string): string =>
  platform === "win32"
    ? "w32tm /resync"
    : platform === "darwin"
      ? "sudo sntp -sS time.apple.com"
      : "sudo timedatectl set-ntp true";

/** Formats SQLite's integrity report on one line, without its heading. */
const toOneLine = (detail: string): string =>
  detail.replace(/^\*\*\* in database \w+ \*\*\*\s*/, "").replaceAll(/\s+/g, " ");

/** Checks the database, its sums, the prices, the clock and the disk. */
export function checkData(facts: DoctorFacts): Finding[] {
  return [
    ...checkDatabase(facts),
    ...checkSums(facts),
    ...checkRates(facts),
    ...checkClock(facts),
    ...checkDisk(facts),
  ];
}

function checkDatabase({ database }: DoctorFacts): Finding[] {
  switch (database.state) {
    case "ok":
      return [
        database.pages === "read"
          ? ok("database", "Every page of the database can be read.")
          : ok(
              "database",
              `The database opens. Its pages were not checked, because it is larger than ${MAX_CHECKED_BYTES / 2 ** 30} GiB.`,
            ),
      ];
    case "absent":
      return [note("database", "Nothing has been metered yet.")];
    case "older_schema":
      return [inconsistent("database", "The database was written by an older version.", restart)];
    case "newer_schema":
      return [broken("database", "The database was written by a newer version. Update this installation.")];
    case "unreadable": {
      const { sentence, fixCommand } = splitProblem(database.detail ?? database.state);
      return [broken("database", `The database cannot be read: ${sentence}`, { fixCommand })];
    }
    default: {
      const problem = toOneLine(database.detail ?? database.state);
      const message = `The database cannot be read: ${problem}. The daemon moves a damaged database aside and creates a new one.`;
      return [broken("database", message, restart)];
    }
  }
}

/** Checks whether reports can read sums. Their figures are right either way. */
function checkSums({ database, daemon }: DoctorFacts): Finding[] {
  const { unsummed } = database;
  if (unsummed === null || unsummed <= MAX_UNSUMMED_REQUESTS) return [];
  const message = `Reports are slow, because they read ${unsummed} requests one by one. The daemon sums these up in the background.`;
  return [daemon === null ? note("sums", message, { fixCommand: start.fixCommand }) : note("sums", message)];
}

/** Returns the age of the newest price in whole days; negative if it is in the future. */
const rateAgeDays = (newestRate: string, now: number): number =>
  Math.floor((now - Date.parse(newestRate)) / DAY_MS);

function checkRates({ newestRate, ratesHaveSource, now }: DoctorFacts): Finding[] {
  if (newestRate === null) return [];
  const days = rateAgeDays(newestRate, now);
  if (days <= STALE_RATES_DAYS) return [ok("prices", `The newest price is dated ${newestRate}.`)];
  const message = `The newest price is ${days} days old.`;
  const fixCommand = ratesHaveSource ? "meter pricing refresh" : "meter pricing pull --source litellm";
  return [inconsistent("prices", message, { fixCommand })];
}

function checkClock({ database, newestRate, now, platform }: DoctorFacts): Finding[] {
  const findings: Finding[] = [];
  // Rates are never dated two days ahead, so the clock must be wrong. One day allows for time zones.
  if (newestRate !== null && rateAgeDays(newestRate, now) < -1)
    findings.push(
      broken("clock", `The clock is earlier than the prices of ${newestRate}.`, {
        fixCommand: setClockCommand(platform),
      }),
    );
  if (database.newestRequestAt !== null && database.newestRequestAt - now > CLOCK_TOLERANCE_MS)
    findings.push(
      inconsistent("clock", "Requests are stored with times in the future. The clock was set back."),
    );
  return findings.length > 0
    ? findings
    : [ok("clock", "The clock agrees with the prices and the stored requests.")];
}

function checkDisk({ database, freeDiskBytes, meterHome, now }: DoctorFacts): Finding[] {
  if (freeDiskBytes === null) return [];
  const mebibytes = Math.floor(freeDiskBytes / 1024 / 1024);
  const isLow = freeDiskBytes < LOW_DISK_BYTES;
  const level = freeDiskBytes < FULL_DISK_BYTES ? broken : isLow ? inconsistent : ok;
  const size = isLow ? `; the meter's database takes ${Math.ceil(database.bytes / 1024 / 1024)} MiB` : "";
  if (isLow && database.bytes >= LARGE_DATABASE_BYTES) {
    const fixCommand = `meter prune --before ${dateOf(now - PRUNE_AFTER_DAYS * DAY_MS)}`;
    return [level("disk", `${mebibytes} MiB are free${size}.`, { fixCommand })];
  }
  const advice = isLow ? ` Delete other files on the disk of ${meterHome}.` : "";
  return [level("disk", `${mebibytes} MiB are free${size}.${advice}`)];
}
