import { resolve } from "node:path";
import { Command, Option } from "clipanion";
import { formatBytes } from "../../../core/values/text/format-bytes.ts";
import { formatCount } from "../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { CloudCommand } from "../cloud-command.ts";
import { cloudExitCodes } from "../cloud-exit-codes.ts";
import type { RestoreReport } from "../restore.ts";

const category = "Backup";

/** What a withdrawal is, by example. */
const WITHDRAWALS = "erased prompts, deleted accounts, revoked keys";

export class BackupCommand extends CloudCommand {
  static override paths = [["backup"]];
  static override usage = Command.Usage({
    category,
    description: "Write a backup of the database into a new folder",
    details: `
      Servers may keep running: the backup is the database as of one moment. On PostgreSQL it runs pg_dump, and needs a login that
      sees all rows: a superuser, or a role with BYPASSRLS. On a cluster, writes wait meanwhile.

      The folder contains the database and \`manifest.json\`, with the rows and sums of each table and the heads of all ledgers. It does not
      contain the keys that encrypt bodies, or the session secret. Keep those in another place.
    `,
    examples: [["Write a backup", "meter-cloud backup /backups/2026-11-27"]],
  });

  folder = Option.String({ name: "folder" });
  json = Option.Boolean("--json", false, { description: "Print the manifest as JSON" });

  protected override async perform(): Promise<void> {
    const folder = resolve(this.folder);
    const manifest = await this.administer("back_up", { folder });
    if (this.json) return this.commandContext.printJson(manifest);
    const rows = Object.values(manifest.totals).reduce((sum, each) => sum + Number(each.rows), 0);
    this.commandContext.print(
      [
        `Wrote a backup of ${manifest.backup_at} to ${folder}: ${formatQuantity(rows, "row")}, ${formatBytes(manifest.bytes)}.`,
        manifest.body_keys.length === 0
          ? "No stored body needs a key."
          : `Not included: ${formatQuantity(manifest.body_keys.length, "key")} of stored bodies (bodies.keys_folder). Without them, the bodies can't be read.`,
        "Not included: the session secret (METER_CLOUD_AUTH_SECRET, or auth-secret in the home).",
      ].join("\n"),
    );
  }
}

export class WithdrawalsCommand extends CloudCommand {
  static override paths = [["withdrawals"]];
  static override usage = Command.Usage({
    category,
    description: "List withdrawals since a time: erasures, deletions, revoked keys",
    details: `
      A backup does not contain later withdrawals, so a restore would make them ineffective. Write this list every few minutes to a file
      on another machine: \`meter-cloud restore --withdrawals\` applies it. Needs a login that sees all rows.

      The list has erased prompts, deleted workspaces and accounts, revoked keys, blocked machines, removed members, and the workspaces
      that do not store prompts. It contains ids and names of projects, and no other text.
    `,
    examples: [
      [
        "Write the list since the last backup",
        "meter-cloud withdrawals --since 2026-11-27T00:00Z > new && mv new withdrawals",
      ],
    ],
  });

  since = Option.String("--since", {
    required: true,
    description: "A time in ISO 8601: that of the oldest backup you keep",
  });

  protected override async perform(): Promise<void> {
    const { formatWithdrawals } = await import("../restore.ts");
    const { parseInstant } = await import("../../../core/wire/instant.ts");
    const since = parseInstant(/T/.test(this.since) ? this.since : `${this.since}T00:00Z`);
    if (since === null) {
      throw new CommandFailure(
        `Invalid time: ${this.since}. Expected: ISO 8601, such as 2026-11-27T00:00Z.`,
        cloudExitCodes.usage,
      );
    }
    const asOf = new Date();
    const withdrawals = await this.administer("list_withdrawals", { since });
    this.commandContext.stdout.write(formatWithdrawals(withdrawals, asOf));
  }
}

export class RestoreCommand extends CloudCommand {
  static override paths = [["restore"]];
  static override usage = Command.Usage({
    category,
    description: "Restore a backup into an empty database, and verify it",
    details: `
      Compares the rows and sums of each table with the manifest, and verifies every ledger up to its head in the manifest. Exits with 5 at
      the first difference. Do not start a server on such a database.

      Then applies the withdrawals in the file of \`--withdrawals\`, and signs everybody out. Machines send again what they sent after the
      backup; each record is counted once.

      Stop all servers of the old database, and restore the keys of bodies (bodies.keys_folder) first. Restore into PostgreSQL as a
      superuser.
    `,
    examples: [
      ["Restore a backup", "meter-cloud restore /backups/2026-11-27 --withdrawals withdrawals"],
      [
        "Restore without a list of withdrawals",
        "meter-cloud restore /backups/2026-11-27 --without-withdrawals",
      ],
    ],
  });

  folder = Option.String({ name: "folder" });
  withdrawals = Option.String("--withdrawals", {
    description: "The latest file of `meter-cloud withdrawals`",
  });
  withoutWithdrawals = Option.Boolean("--without-withdrawals", false, {
    description: "Restore without such a file: what was withdrawn after the backup is valid again",
  });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<number> {
    if ((this.withdrawals === undefined) === !this.withoutWithdrawals) {
      throw new CommandFailure(
        `Name the list of what was withdrawn after the backup (${WITHDRAWALS}): --withdrawals <file>\nWithout such a list: --without-withdrawals`,
        cloudExitCodes.usage,
      );
    }
    const { readCloudConfig } = await import("../read-cloud-config.ts");
    const { readManifest } = await import("../backup.ts");
    const { finishRestore, loadBackup, readWithdrawals, RestoreDiffers } = await import("../restore.ts");
    const { describeDatabaseError } = await import("../open-cloud-database.ts");
    const config = await readCloudConfig(this.context.env, { config: this.config });
    const folder = resolve(this.folder);
    const manifest = await readManifest(folder);
    const file = this.withdrawals === undefined ? null : await readWithdrawals(resolve(this.withdrawals));
    const opened = await loadBackup(config, folder, manifest).catch((cause) => {
      throw describeDatabaseError(cause);
    });
    try {
      const parts = await this.partsFor(config, opened);
      const report = await finishRestore(parts, manifest, file?.withdrawals ?? []);
      if (this.json) this.commandContext.printJson({ ...report, withdrawals_as_of: file?.asOf ?? null });
      else this.commandContext.print(describeReport(report, manifest.backup_at, file?.asOf ?? null));
      return report.notApplied.length === 0 ? cloudExitCodes.ok : cloudExitCodes.failed;
    } catch (cause) {
      if (!(cause instanceof RestoreDiffers)) throw describeDatabaseError(cause);
      throw new CommandFailure(
        `The restored database differs from its backup: ${cause.message}.\nDo not start a server on it.`,
        cloudExitCodes.notIntact,
      );
    } finally {
      await opened.db.destroy();
    }
  }
}

function describeReport(report: RestoreReport, backupAt: string, asOf: string | null): string {
  const { missingBodyKeys } = report;
  return [
    `Restored the backup of ${backupAt}.`,
    `Verified ${formatQuantity(report.tables, "table")} (${formatQuantity(report.rows, "row")}): rows and sums are those of the backup.`,
    `Verified the ledgers of ${formatQuantity(report.workspaces, "workspace")} (${formatQuantity(report.ledgerRows, "row")}), up to the heads of the backup.`,
    asOf === null
      ? `What was withdrawn after the backup is valid again: ${WITHDRAWALS}.`
      : `Applied ${formatQuantity(report.withdrawals, "withdrawal")} of the list of ${asOf}. What was withdrawn later is valid again.`,
    ...report.notApplied.map(
      (each) => `Not applied: ${JSON.stringify(each)}. It would leave an organisation without an owner.`,
    ),
    missingBodyKeys.length === 0
      ? "No key of a stored body is missing."
      : `${formatCount(missingBodyKeys.length)} of the keys of stored bodies can't be read in bodies.keys_folder, nor can these bodies. List them: meter-cloud doctor`,
    "Everybody must sign in again. Machines send again what they sent after the backup.",
  ].join("\n");
}
