import { Command, Option } from "clipanion";
import { CommandFailure } from "../../program/exit-codes.ts";
import { CloudCommand } from "../cloud-command.ts";
import { cloudExitCodes } from "../cloud-exit-codes.ts";

export class EraseCommand extends CloudCommand {
  static override paths = [["erase"]];
  static override usage = Command.Usage({
    category: "Ledgers and erasure",
    description: "Erase the prompts of a person or a project at once, and print the certificate",
    details: `
      Destroys the keys that encrypt the bodies, deletes the bodies, and blanks what describes them: paths, prompt hashes,
      session ids, branches and the texts of prompt views. Tokens and costs stay. Bodies in backups of the database can no
      longer be read. Bodies that a machine sends later for requests before the erasure are refused.

      The certificate is JSON and says what was erased and what remains. The workspace's audit log has its SHA-256.
      To erase a deleted workspace or account, see \`meter-cloud purge\`.
    `,
    examples: [
      [
        "Erase one person's prompts in a workspace",
        "meter-cloud erase --workspace 01994b8e-7c00-7000-8000-000000000000 --person 01994b8e-7c00-7000-8000-000000000001 --now",
      ],
      [
        "Erase the prompts of a project",
        "meter-cloud erase --workspace 01994b8e-7c00-7000-8000-000000000000 --project apollo --now",
      ],
    ],
  });

  workspace = Option.String("--workspace", { required: true, description: "The workspace's id" });
  person = Option.String("--person", { description: "The id of the person whose prompts are erased" });
  project = Option.String("--project", { description: "The project whose prompts are erased" });
  now = Option.Boolean("--now", false, { description: "Erase; without it, nothing is changed" });

  protected override async perform(): Promise<void> {
    const scope = {
      workspaceId: await this.parseWorkspaceId(this.workspace),
      userId: this.person ?? null,
      project: this.project ?? null,
    };
    if (scope.userId === null && scope.project === null) {
      throw new CommandFailure(
        "Say whose prompts to erase: --person, --project, or both.",
        cloudExitCodes.usage,
      );
    }
    if (!this.now) {
      throw new CommandFailure(
        "This can't be undone. Nothing was erased. To erase, run the command again with --now.",
        cloudExitCodes.usage,
      );
    }
    const report = await this.administer("erase_prompts", scope);
    if (report === null) {
      throw new CommandFailure(
        `No workspace in service has the id ${scope.workspaceId}.`,
        cloudExitCodes.notFound,
      );
    }
    this.commandContext.print(report.certificate);
  }
}
