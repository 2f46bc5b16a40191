import { createCredentialStore } from "../../../../adapters/cloud-credentials/credential-store.ts";
import type { UploadFrom } from "../../../../core/delivery/uploader/upload-from.ts";
import { predictWatermark } from "../../../../daemon/cloud/upload-watermark.ts";
import { isAboutCloud } from "../../../cloud/cloud-warnings.ts";
import { databaseBytes } from "../../../home/database-file.ts";
import { withStore } from "../../../home/open-store.ts";
import { readConfig } from "../../../home/read-config.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { CommandFailure } from "../../../program/exit-codes.ts";
import { renderPrivacy, summarisePrivacy } from "./render-privacy.ts";

/** The options of `meter cloud privacy show`. */
export interface ShowPrivacyOptions {
  readonly json: boolean;
}

/** Shows which fields leave this machine. */
export async function showPrivacy(context: CommandContext, options: ShowPrivacyOptions): Promise<void> {
  const { home } = context;
  const { config, warnings } = await readConfig(home, context.env);
  const about = warnings.filter(isAboutCloud);
  const { bodies } = config.cloud;
  const uploadFrom = bodies.enabled ? await uploadFromOf(home, bodies.uploadFrom) : bodies.uploadFrom;
  // Nothing is sent with unreadable credentials, so their prompt hash key does not matter.
  const credentials = await createCredentialStore(home)
    .read()
    .catch(() => null);
  const cloud = { ...config.cloud, bodies: { ...bodies, uploadFrom } };
  const summary = summarisePrivacy({ ...config, cloud }, credentials?.promptHashKey ?? null);
  if (options.json) return context.printJson({ ...summary, warnings: about });
  context.print(
    [renderPrivacy(summary, context.width), ...about.map((each) => `warning     ${each}`)].join("\n"),
  );
}

/**
 * Returns the time from which bodies are uploaded. The time stored when body upload was turned on takes precedence over
 * the file; if the database can't be read, the file's value is shown.
 */
async function uploadFromOf(home: string, configured: UploadFrom | null): Promise<UploadFrom | null> {
  if (databaseBytes(home) === 0) return configured ?? { kind: "now" };
  try {
    return await withStore(home, { readOnly: true }, async (store) => predictWatermark(store, configured));
  } catch (cause) {
    if (cause instanceof CommandFailure) return configured;
    throw cause;
  }
}
