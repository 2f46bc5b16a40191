import { Command, Option } from "clipanion";
import type { ChainVerdict, SavedHead, WorkspaceHeads } from "../../../cloud/ledger/verify-ledgers.ts";
import { CHAIN_NAMES, type ChainName } from "../../../core/privacy/ledger/chain.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { describeUnreadable } from "../../render/unreadable.ts";
import { CloudCommand } from "../cloud-command.ts";
import { cloudExitCodes } from "../cloud-exit-codes.ts";

/** The heads of a workspace's chains are a few short fields. */
const MAX_HEADS_BYTES = 4_096;

const CHAIN_TITLES: Readonly<Record<ChainName, string>> = {
  prompt_views: "Prompt views",
  audit_events: "Audit events",
  costs: "Costs",
};

export class LedgerVerifyCommand extends CloudCommand {
  static override paths = [["ledger", "verify"]];
  static override usage = Command.Usage({
    category: "Ledgers and erasure",
    description: "Check that a workspace's ledgers were not changed",
    details: `
      Checks prompt views, audit events and costs. For costs, compares each request with the digest sealed when it was
      stored, and the hourly and daily totals with the requests. Each row of a ledger holds the hash of the row before
      it, so a changed, removed or added row is found. Rows removed from the end, or a ledger that was rewritten as a
      whole, are only found by comparing with saved heads: save the heads to a file, keep it on another machine, and pass
      it next time. Connected machines save heads too: \`meter cloud ledger --json\` prints those of a machine.

      Exits with 5 if a ledger was changed.
    `,
    examples: [
      [
        "Check, and save the heads",
        "meter-cloud ledger verify 01994b8e-7c00-7000-8000-000000000000 --save-head heads.json",
      ],
      [
        "Check against saved heads",
        "meter-cloud ledger verify 01994b8e-7c00-7000-8000-000000000000 --head heads.json",
      ],
    ],
  });

  workspace = Option.String({ name: "workspace" });
  head = Option.String("--head", { description: "A file of saved heads to compare with" });
  saveHead = Option.String("--save-head", {
    description: "Save the heads to this file if the ledgers are intact",
  });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<number> {
    const { headsOf } = await import("../../../cloud/ledger/verify-ledgers.ts");
    const { writeFileAtomic } = await import("../../../adapters/files/write-file-atomic.ts");
    const id = await this.parseWorkspaceId(this.workspace);
    const saved = this.head === undefined ? null : await readHeads(this.head, id);
    const verdict = await this.administer("verify_ledger", { workspaceId: id, heads: saved });
    const heads = headsOf(id, verdict);
    if (heads !== null && this.saveHead !== undefined) {
      writeFileAtomic(this.saveHead, `${JSON.stringify(heads)}\n`, { mode: 0o600 });
    }
    if (this.json) this.commandContext.printJson(verdict);
    else {
      for (const name of CHAIN_NAMES) this.report(CHAIN_TITLES[name], verdict[name], saved?.[name] ?? null);
      if (heads !== null && this.saveHead !== undefined) {
        this.commandContext.print(`Saved the heads to ${this.saveHead}. Keep this file on another machine.`);
      }
    }
    return verdict.ok ? cloudExitCodes.ok : cloudExitCodes.notIntact;
  }

  private report(title: string, verdict: ChainVerdict, saved: SavedHead | null): void {
    if (!verdict.ok) {
      const at = verdict.seq === 0 ? "" : ` at row ${verdict.seq}`;
      const detail = verdict.detail === undefined ? "" : `: ${verdict.detail}`;
      return this.commandContext.print(
        `${title}: NOT INTACT, ${verdict.fault.replaceAll("_", " ")}${at}${detail}.`,
      );
    }
    const proven = saved === null ? "" : `, ${verdict.provenThroughSeq} of them confirmed by the saved head`;
    this.commandContext.print(`${title}: intact, ${formatQuantity(verdict.head.seq, "row")}${proven}.`);
    if (verdict.erasedRows > 0) {
      this.commandContext.print(
        `  The purge erased the texts of ${formatQuantity(verdict.erasedRows, "row")}; they can no longer be checked.`,
      );
    }
    if (verdict.outsideChain > 0) {
      this.commandContext.print(
        `  ${formatQuantity(verdict.outsideChain, "row")} written before this ledger existed can't be checked.`,
      );
    }
    if (verdict.caveat !== null) this.commandContext.print(`  Note: ${verdict.caveat}.`);
  }
}

async function readHeads(path: string, workspaceId: string): Promise<WorkspaceHeads> {
  const v = await import("valibot");
  const { readSmallFile } = await import("../../../adapters/files/read-small-file.ts");
  const file = await readSmallFile(path, { maxBytes: MAX_HEADS_BYTES });
  if (!file.ok) throw new CommandFailure(describeUnreadable(path, file.reason));
  const count = v.pipe(v.number(), v.integer(), v.minValue(0));
  const head = {
    seq: count,
    hash: v.pipe(v.string(), v.hexadecimal()),
    outside_chain: v.optional(v.nullable(count), 0),
  };
  const saved = v.optional(v.nullable(v.object(head)), null);
  const workspace_id = v.literal(workspaceId);
  const headsSchema = v.pipe(
    v.string(),
    v.parseJson(),
    v.union([
      // The format of versions that verified prompt views only.
      v.pipe(
        v.object({ workspace_id, ...head }),
        v.transform(({ workspace_id, ...views }) => ({
          workspace_id,
          prompt_views: views,
          audit_events: null,
          costs: null,
        })),
      ),
      v.object({ workspace_id, prompt_views: saved, audit_events: saved, costs: saved }),
    ]),
  );
  const heads = v.safeParse(headsSchema, file.text);
  if (!heads.success) throw new CommandFailure(`${path} contains no saved heads of this workspace.`);
  return heads.output;
}
