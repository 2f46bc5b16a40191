import { UsageError } from "clipanion";
import { saveAnnouncedWatermark, saveCommandedWatermark } from "../../../../daemon/cloud/upload-watermark.ts";
import { reloadDaemon } from "../../../cloud/cloud-control.ts";
import { editConfig } from "../../../home/edit-config.ts";
import { withStore } from "../../../home/open-store.ts";
import { prepareHome } from "../../../home/prepare-home.ts";
import { readConfig, readConfigTable } from "../../../home/read-config.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { type PrivacySetOptions, readPrivacyChange } from "./privacy-change.ts";

/** Changes which fields leave this machine. */
export async function changePrivacy(context: CommandContext, options: PrivacySetOptions): Promise<void> {
  const { home } = context;
  const { config } = await readConfig(home, context.env);
  const read = readPrivacyChange(options, {
    table: await readConfigTable(home),
    bodiesEnabled: config.cloud.bodies.enabled,
    now: Date.now(),
  });
  if (!read.ok) throw new UsageError(read.problem);
  const { uploadFrom, changes } = read;
  if (uploadFrom === undefined) await editConfig(home, changes);
  else {
    prepareHome(home);
    await withStore(home, { readOnly: false, create: true }, async (store) => {
      // Before the file changes, since a daemon may read it at any moment.
      saveAnnouncedWatermark(store, uploadFrom);
      await editConfig(home, changes);
      // After the file changed: until then the stored time may be used in place of a date in the file.
      saveCommandedWatermark(store, uploadFrom);
    });
  }
  await reloadDaemon(home);
  context.print(read.message);
}
