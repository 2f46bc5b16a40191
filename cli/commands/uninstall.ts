import { Command, Option } from "clipanion";
import { CommandFailure } from "../exit-codes.ts";
import { MeterCommand } from "../meter-command.ts";

export class UninstallCommand extends MeterCommand {
  static override paths = [["uninstall"]];
  static override usage = Command.Usage({
    category: "Installing",
    description: "take back what init did",
    details: `
      Exactly the reverse of what was recorded, the last step first. What somebody has changed since is left and named.
      The database, the configuration and the logs stay unless you say otherwise.
    `,
    examples: [
      ["See what would be done", "meter uninstall --dry-run"],
      ["Delete what was metered, too", "meter uninstall --purge --include-logs"],
    ],
  });

  purge = Option.Boolean("--purge", false, {
    description: "delete database, configuration and credentials as well",
  });
  includeLogs = Option.Boolean("--include-logs", false, { description: "delete the logs as well" });
  dryRun = Option.Boolean("--dry-run", false, { description: "change nothing" });
  yes = Option.Boolean("--yes", false, { description: "don't ask" });

  protected override async perform(): Promise<number> {
    const { existsSync } = await import("node:fs");
    const { join } = await import("node:path");
    const { meterHome } = await import("../../adapters/files/mod.ts");
    const { createRunWords, readInstallRecord, undoEntries, writeInstallRecord } = await import(
      "../../adapters/installer/mod.ts"
    );
    const { describeUndo } = await import("../../core/install/mod.ts");
    const { homedir } = await import("node:os");
    const { authorityFiles } = await import("../home.ts");
    const { installName } = await import("../install-plan.ts");
    const { trustedByHand } = await import("../trusted-by-hand.ts");
    const { findDaemon } = await import("../daemon-process.ts");
    const { deleteFromHome, listHome } = await import("../home-contents.ts");
    const { stopDaemonOf } = await import("../start-daemon.ts");
    const { env } = this.context;
    const home = meterHome(env);
    const run = createRunWords(env);
    const record = await readInstallRecord(home).catch((cause: Error) => {
      throw new CommandFailure(cause.message);
    });
    const kinds = { purge: this.purge, logs: this.includeLogs };
    const contents = listHome(home, kinds);
    const running = await findDaemon(home);
    if (record === null && contents.goes.length === 0) {
      this.print(`Nothing is installed in ${home}.`);
      return 0;
    }
    this.print(`Uninstalling the meter of ${home}:`);
    for (const entry of record?.entries.toReversed() ?? []) {
      const undo = describeUndo(entry);
      if (undo !== null) this.print(`  ${undo}`);
    }
    if (running !== null) this.print("  stop the daemon");
    for (const name of contents.goes) this.print(`  delete ${join(home, name)}`);
    if (this.purge && existsSync(join(home, "cloud-credentials.json")))
      this.print(
        "This machine's key is still valid at the cloud: meter cloud disconnect, before this, revokes it.",
      );
    if (this.dryRun) {
      this.print("Nothing was changed.");
      return 0;
    }
    if (!this.yes) {
      const { confirm } = await import("../confirm.ts");
      if (!(await confirm(this.context, "Do it?", { forGood: this.purge }))) {
        this.print("Nothing was changed.");
        return 1;
      }
    }
    let failed = false;
    if (record !== null) {
      let entries = record.entries;
      await undoEntries(record.entries, run, ({ entry, outcome, says }) => {
        if (outcome === "failed") failed = true;
        else entries = entries.filter((each) => each !== entry);
        if (says !== null) this.print(`${outcome === "failed" ? "failed" : "left"}: ${says}`);
        writeInstallRecord(home, { ...record, entries });
      });
      if (!failed) writeInstallRecord(home, null);
    }
    await stopDaemonOf(home, await findDaemon(home), env);
    if (failed) {
      this.print("What failed is still recorded: mend it and run meter uninstall again.");
      return 1;
    }
    const byHand = trustedByHand(record?.name ?? installName(home, homedir()), authorityFiles(home).caFile);
    deleteFromHome(home, kinds);
    const { goes, stays } = listHome(home, kinds);
    for (const name of goes) this.print(`left: ${join(home, name)} could not be deleted`);
    if (stays.length > 0) this.print(`What stays in ${home}: ${stays.join(", ")}`);
    if (byHand !== null) {
      this.print(`left: ${byHand} is root's, and this machine trusts it:`);
      this.print(`  sudo rm ${byHand} && sudo update-ca-certificates --fresh`);
    }
    if (record?.apps === true)
      this.print("Shells that are open now still have the variables: open new ones.");
    this.print("Uninstalled.");
    return 0;
  }
}
