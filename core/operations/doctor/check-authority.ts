import { quoteForShell } from "../../values/text/shell-words.ts";
import { DAY_MS } from "../../values/time.ts";
import { describeAddedHosts } from "./added-hosts.ts";
import type { DoctorFacts } from "./doctor-facts.ts";
import { broken, type Finding, inconsistent, note, ok, refresh, restart, start } from "./finding.ts";

/** Checks the certificate authority: its files, its certificate, its key, and whether the system trusts it. */
export function checkAuthority(facts: DoctorFacts): Finding[] {
  const { authority, now, daemon } = facts;
  const { state, validUntil } = authority;
  const days = validUntil === null ? 0 : Math.floor((validUntil - now) / DAY_MS);
  if (authority.keyDamaged === true)
    return [broken("authority", "The certificate authority's key is damaged.", replaceKey(facts))];
  if (state === "absent")
    return [
      daemon === null && authority.replacedBy === "daemon"
        ? note("authority", "There is no certificate authority yet. The daemon creates it when it starts.")
        : broken("authority", "The certificate authority's files are missing.", replace(facts)),
    ];
  const findings = [...checkCertificate(facts, days), ...checkKey(facts), ...checkTrust(facts)];
  return findings.some(({ level }) => level !== "ok" && level !== "note")
    ? findings
    : [ok("authority", `The certificate authority is valid for another ${days} days.`), ...findings];
}

/** The fix that replaces the certificate: a restart only if no program would then reject the new one. */
const replace = ({ authority }: DoctorFacts) => (authority.replacedBy === "init" ? refresh : restart);

/** The fix that replaces a key that the daemon can't read. It keeps the files: a backup may hold the key. */
function replaceKey(facts: DoctorFacts) {
  const folder = quoteForShell(`${facts.meterHome}/ca`);
  const then = facts.daemon === null && facts.authority.replacedBy === "daemon" ? start : replace(facts);
  return { fixCommand: `mv ${folder} ${folder}.damaged && ${then.fixCommand}` };
}

function checkCertificate(facts: DoctorFacts, days: number): Finding[] {
  const { state, replacedBy, unpermittedHosts } = facts.authority;
  const fix = replace(facts);
  if (state === "damaged") return [broken("authority", "The authority's certificate is damaged.", fix)];
  if (days <= 0) return [broken("authority", "The authority's certificate has expired.", fix)];
  if (replacedBy === "init" && unpermittedHosts.length > 0)
    return [inconsistent("authority", describeAddedHosts(unpermittedHosts), fix)];
  switch (state) {
    case "expiring": {
      const renewal = replacedBy === "daemon" ? " A restart renews it." : "";
      const message = `The authority's certificate expires in ${days} ${days === 1 ? "day" : "days"}.${renewal}`;
      return [inconsistent("authority", message, fix)];
    }
    case "hosts_changed": {
      const message =
        unpermittedHosts.length > 0
          ? "The authority may not sign for all hosts that the configuration names."
          : "The authority may sign for hosts that are not metered.";
      return [inconsistent("authority", message, fix)];
    }
    case "outdated": {
      const message =
        "The authority's certificate was made by an earlier version. It is not limited to TLS servers and allows names below the providers' hosts.";
      return [inconsistent("authority", message, fix)];
    }
    default:
      return [];
  }
}

function checkKey({ authority, meterHome }: DoctorFacts): Finding[] {
  if (!authority.keyOpenToOthers) return [];
  return [
    inconsistent("authority", "Other users can read the authority's private key.", {
      fixCommand: `chmod 700 ${quoteForShell(`${meterHome}/ca`)} && chmod 600 ${quoteForShell(`${meterHome}/ca/key.pem`)}`,
      automaticFix: "close_key",
    }),
  ];
}

function checkTrust({ authority }: DoctorFacts): Finding[] {
  if (authority.systemTrusts === true) return [ok("trust", "Programs of this user trust the authority.")];
  if (authority.systemTrusts !== false) return [];
  return [
    authority.trustRecorded
      ? inconsistent(
          "trust",
          "meter init made the system trust the authority, but its current certificate is not trusted.",
          refresh,
        )
      : note(
          "trust",
          "The system does not trust the meter's authority. meter run and meter init --apps do not need that.",
          { fixCommand: authority.trustCommand },
        ),
  ];
}
