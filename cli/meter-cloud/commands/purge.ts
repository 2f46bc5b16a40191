import { Command, Option } from "clipanion";
import type { PurgeSubject } from "../../../cloud/store/purge.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { CloudCommand } from "../cloud-command.ts";
import { cloudExitCodes } from "../cloud-exit-codes.ts";

export class PurgeCommand extends CloudCommand {
  static override paths = [["purge"]];
  static override usage = Command.Usage({
    category: "Ledgers and erasure",
    description: "Erase workspaces and accounts deleted 30 days ago or earlier",
    details: `
      \`serve\` does this every hour. Without \`--now\` this command only lists what is due; with \`--now\` it erases it.
      \`--subject\` erases one deleted workspace, organisation or account before its date; an account is erased with the
      organisations that were deleted with it.

      \`--certificate\` prints the certificate of one that was erased: JSON that says when, how many rows of each
      kind, and what remains.

      Erased rows can no longer be read through the database, but their bytes may remain in its files until they are
      overwritten. \`--compact\` rewrites every table; it locks each table for a while and needs the role that owns the
      tables. Backups are not changed.
    `,
    examples: [
      ["List what is due", "meter-cloud purge --dry-run"],
      ["Erase it now", "meter-cloud purge --now"],
      [
        "Erase one account before its date",
        "meter-cloud purge --now --subject 01994b8e-7c00-7000-8000-000000000000",
      ],
      [
        "Print the certificate of its erasure",
        "meter-cloud purge --certificate 01994b8e-7c00-7000-8000-000000000000",
      ],
    ],
  });

  now = Option.Boolean("--now", false, { description: "Erase what is due" });
  dryRun = Option.Boolean("--dry-run", false, {
    description: "List what would be erased, without erasing it",
  });
  subject = Option.String("--subject", {
    description: "The id of a deleted workspace, organisation or account to erase before its date",
  });
  certificate = Option.String("--certificate", {
    description:
      "Print the certificate of the workspace, organisation or account with this id, which was erased",
  });
  compact = Option.Boolean("--compact", false, { description: "Rewrite every table afterwards" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    if (this.certificate !== undefined) return await this.certify(this.certificate);
    const subjects = await this.administer("list_deleted", { subject: this.subject ?? null });
    if (this.subject !== undefined && subjects.length === 0) {
      throw new CommandFailure(
        `No deleted workspace, organisation or account has the id ${this.subject}.`,
        cloudExitCodes.notFound,
      );
    }
    if (this.dryRun || !this.now)
      return this.report("Would erase", subjects, "Erase it: meter-cloud purge --now");
    const done = await this.administer("purge", {
      subjects: this.subject === undefined ? null : subjects,
      compact: this.compact,
    });
    this.report("Erased", done.erased, null, {
      left: done.left,
      rows: done.rows,
      compaction: done.compaction,
    });
    if (!this.json && done.left.length > 0) {
      this.commandContext.print(
        `Skipped ${formatQuantity(done.left.length, "subject")} that another process is erasing.`,
      );
    }
    if (!this.json && done.compaction !== null) {
      this.commandContext.print(`Rewrote ${formatQuantity(done.compaction.tables, "table")}.`);
      if (!done.compaction.logEnded) {
        this.commandContext.print(
          "This database role may not switch the write-ahead log; old segments are removed by the next checkpoints.",
        );
      }
    }
  }

  private async certify(subject: string): Promise<void> {
    const certificate = await this.administer("certify_purge", { subject });
    if (certificate === null)
      throw new CommandFailure(
        `No workspace, organisation or account with the id ${subject} was erased.`,
        cloudExitCodes.notFound,
      );
    this.commandContext.print(certificate);
  }

  private report(
    verb: string,
    subjects: readonly PurgeSubject[],
    hint: string | null,
    more: Readonly<Record<string, unknown>> = {},
  ): void {
    const stated = subjects.map(({ kind, id, deletedAt }) => ({
      kind,
      id,
      deleted_at: new Date(deletedAt).toISOString(),
    }));
    if (this.json)
      return this.commandContext.printJson({ subjects: stated, dry_run: hint !== null, ...more });
    if (stated.length === 0) return this.commandContext.print("Nothing is due.");
    for (const { kind, id, deleted_at } of stated) {
      this.commandContext.print(`${verb} ${kind} ${id}, deleted ${deleted_at.slice(0, 10)}.`);
    }
    if (hint !== null) this.commandContext.print(hint);
  }
}
