import { Command, Option } from "clipanion";
import { CommandFailure } from "../../exit-codes.ts";
import { counted } from "../../render/count.ts";
import { unreadable } from "../../render/unreadable.ts";
import { CloudCommand } from "../cloud-command.ts";
import { cloudExitCodes } from "../exit-codes.ts";

/** A head is three short fields. */
const MAX_HEAD_BYTES = 4_096;

export class LedgerVerifyCommand extends CloudCommand {
  static override paths = [["ledger", "verify"]];
  static override usage = Command.Usage({
    category: "Evidence",
    description: "check that a workspace's ledger of prompt views is what was written",
    details: `
      Each row holds the hash of the row before it, so a changed, removed or added row shows, and where. Rows cut off the
      end, and a ledger written anew, only show against a head that was kept outside the database: save one, keep it
      elsewhere, and give it the next time.

      Ends with 5 where the ledger is not what was written.
    `,
    examples: [
      [
        "Check, and keep the head",
        "meter-cloud ledger verify 01994b8e-7c00-7000-8000-000000000000 --save-head head.json",
      ],
      [
        "Check against it later",
        "meter-cloud ledger verify 01994b8e-7c00-7000-8000-000000000000 --head head.json",
      ],
    ],
  });

  workspace = Option.String({ name: "workspace" });
  head = Option.String("--head", { description: "the file of a head that was saved before" });
  saveHead = Option.String("--save-head", { description: "write the head to this file, if all is well" });
  json = Option.Boolean("--json", false, { description: "for programs" });

  protected override async perform(): Promise<number> {
    const { sha256 } = await import("../../../adapters/crypto/mod.ts");
    const { writeFileAtomic } = await import("../../../adapters/files/mod.ts");
    const { verifyPromptViewLedger } = await import("../../../cloud/mod.ts");
    const id = await this.workspaceId(this.workspace);
    const saved = this.head === undefined ? null : await readHead(this.head, id);
    const verdict = await this.withDatabase(({ db }) => verifyPromptViewLedger(db, id, saved, sha256));
    if (verdict.ok && this.saveHead !== undefined) {
      writeFileAtomic(this.saveHead, `${JSON.stringify(verdict.head)}\n`, { mode: 0o600 });
    }
    if (this.json) this.printJson(verdict);
    else if (!verdict.ok) {
      this.print(`NOT INTACT: ${verdict.fault.replaceAll("_", " ")} at row ${verdict.seq}.`);
    } else {
      const proven = saved === null ? "" : `, the first ${verdict.provenThroughSeq} proven by the saved head`;
      this.print(`Intact: ${counted(verdict.head.seq, "row")}${proven}.`);
      if (verdict.caveat !== null) this.print(`But ${verdict.caveat}.`);
      if (this.saveHead !== undefined) this.print(`The head is in ${this.saveHead}: keep it elsewhere.`);
    }
    return verdict.ok ? cloudExitCodes.ok : cloudExitCodes.notIntact;
  }
}

async function readHead(path: string, workspaceId: string) {
  const v = await import("valibot");
  const { readSmallFile } = await import("../../../adapters/files/mod.ts");
  const file = await readSmallFile(path, { maxBytes: MAX_HEAD_BYTES });
  if (!file.ok) throw new CommandFailure(unreadable(path, file.reason));
  const headSchema = v.pipe(
    v.string(),
    v.parseJson(),
    v.object({
      workspace_id: v.literal(workspaceId),
      seq: v.pipe(v.number(), v.integer(), v.minValue(0)),
      hash: v.pipe(v.string(), v.hexadecimal()),
    }),
  );
  const head = v.safeParse(headSchema, file.text);
  if (!head.success) throw new CommandFailure(`${path} is no saved head of this workspace`);
  return head.output;
}
