import { createSmtpMail } from "../../adapters/mail/create-smtp-mail.ts";
import { MissingPackageError } from "../../adapters/optional-packages.ts";
import type { SendMail } from "../../core/ports/mail.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import type { CloudProgramConfig } from "./read-cloud-config.ts";

/** Opens the configured mail server; without one, returns a sender that prints each email to standard output. */
export async function openMail(
  { smtpUrl, settings }: Pick<CloudProgramConfig, "smtpUrl" | "settings">,
  stdout: NodeJS.WritableStream,
): Promise<SendMail> {
  if (smtpUrl === null || settings.mail.from === null) return createConsoleMail(stdout);
  try {
    return await createSmtpMail({ url: smtpUrl, from: settings.mail.from });
  } catch (cause) {
    throw cause instanceof MissingPackageError ? new CommandFailure(cause.message) : cause;
  }
}

/** Creates a mail sender that prints each email. */
function createConsoleMail(stdout: NodeJS.WritableStream): SendMail {
  return async ({ to, subject, text }) => {
    stdout.write(`\n--- mail to ${to}: ${subject}\n${text.trimEnd()}\n---\n`);
  };
}
