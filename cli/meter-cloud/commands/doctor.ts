import { Command, Option } from "clipanion";
import type { KeyCheck, UnavailableKey } from "../../../cloud/store/unavailable-keys.ts";
import { formatCount } from "../../../core/values/text/format-count.ts";
import { formatQuantity } from "../../../core/values/text/format-quantity.ts";
import { quoteOption } from "../../../core/values/text/shell-words.ts";
import { CloudCommand } from "../cloud-command.ts";
import { cloudExitCodes } from "../cloud-exit-codes.ts";

export class DoctorCommand extends CloudCommand {
  static override paths = [["doctor"]];
  static override usage = Command.Usage({
    category: "Ledgers and erasure",
    description: "Check that the keys of stored bodies can be read",
    details: `
      Reads the key of each person and project from the folder (bodies.keys_folder). Without its key, a stored body can't be
      read, and new ones are not stored: machines send them again until the key is back.

      Run it as the user that runs the server, with its configuration. Exits with 1 if a key can't be read.
    `,
    examples: [["Check the keys", "meter-cloud doctor"]],
  });

  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<number> {
    const { readCloudConfig } = await import("../read-cloud-config.ts");
    const { bodyKeysFolder } = await readCloudConfig(this.context.env, { config: this.config });
    const check = await this.administer("check_body_keys", {});
    if (this.json) this.commandContext.printJson({ folder: bodyKeysFolder, ...check });
    else this.commandContext.print(describeCheck(check, bodyKeysFolder));
    return check.unavailable.length === 0 ? cloudExitCodes.ok : cloudExitCodes.failed;
  }
}

function describeCheck({ keys, unavailable }: KeyCheck, folder: string): string {
  if (unavailable.length === 0) {
    return `The keys of stored bodies can be read: ${formatQuantity(keys, "key")} in ${folder}.`;
  }
  return [
    `${formatCount(unavailable.length)} of ${formatQuantity(keys, "key")} of stored bodies can't be read in ${folder}.`,
    "Bodies that they encrypt can't be read, and new ones of these people and projects are not stored.",
    "Mount the folder, or copy the files back. Machines then send what was not stored.",
    "If a key is lost for good, erase what it encrypted; bodies of later requests get a new key:",
    ...unavailable.flatMap(describeKey),
  ].join("\n");
}

function describeKey({ workspaceId, userId, project, keyId, fault }: UnavailableKey): readonly string[] {
  return [
    `  ${keyId}.key is ${fault}:`,
    `    meter-cloud erase --workspace ${workspaceId} ${quoteOption("--person", userId)} ${quoteOption("--project", project)} --now`,
  ];
}
