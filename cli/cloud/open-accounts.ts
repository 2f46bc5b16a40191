import { createMemoryAccounts } from "../../adapters/memory/mod.ts";
import type { Accounts } from "../../core/ports/accounts.ts";
import type { CloudLog } from "../../core/ports/cloud-log.ts";
import type { SendMail } from "../../core/ports/mail.ts";
import type { RandomBytes } from "../../core/ports/random.ts";
import type { OpenedDatabase } from "./open-cloud-database.ts";
import type { CloudProgramConfig } from "./read-cloud-config.ts";

export interface AccountsNeeds {
  readonly config: CloudProgramConfig;
  readonly opened: OpenedDatabase;
  readonly baseUrl: string;
  readonly randomBytes: RandomBytes;
  readonly log: CloudLog;
  readonly stdout: NodeJS.WritableStream;
}

export function openAccounts(needs: AccountsNeeds): {
  accounts: Accounts<Request, Response>;
  mail: SendMail;
} {
  return {
    accounts: createMemoryAccounts(needs.randomBytes),
    mail: async ({ to, subject, text }) => {
      needs.stdout.write(`mail to ${to}: ${subject}\n${text}\n`);
    },
  };
}
