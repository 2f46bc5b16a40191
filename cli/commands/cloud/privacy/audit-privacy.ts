import { createOutbox } from "../../../../adapters/outbox/create-outbox.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { exitCodes } from "../../../program/exit-codes.ts";
import { type PeriodOptions, readPeriod } from "../../../program/period.ts";
import { renderOutbox } from "./render-outbox.ts";
import { summariseOutbox } from "./summarise-outbox.ts";

/** The options of `meter cloud privacy audit`. */
export interface AuditPrivacyOptions extends PeriodOptions {
  readonly project: string | undefined;
  readonly utc: boolean;
  readonly json: boolean;
}

/** Lists which fields have left this machine, by time and project. */
export async function auditPrivacy(context: CommandContext, options: AuditPrivacyOptions): Promise<number> {
  const outbox = createOutbox(context.home);
  const period = readPeriod(options, Date.now(), options.utc);
  const verdict = await outbox.verify();
  const summary = await summariseOutbox(outbox.read(), { ...period, project: options.project });
  if (options.json) {
    const log = verdict.ok
      ? {
          intact: true,
          entries: verdict.entries,
          first_seq: verdict.firstSeq,
          last_seq: verdict.lastSeq,
        }
      : { intact: false, file: verdict.file, line: verdict.line, problem: verdict.problem };
    context.printJson({ ...summary, log });
  } else context.print(renderOutbox(summary, verdict, context.width));
  return verdict.ok ? exitCodes.ok : exitCodes.failed;
}
