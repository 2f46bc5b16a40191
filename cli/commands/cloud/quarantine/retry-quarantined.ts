import { UsageError } from "clipanion";
import { formatQuantity } from "../../../../core/values/text/format-quantity.ts";
import { withStore } from "../../../home/open-store.ts";
import type { CommandContext } from "../../../program/command-context.ts";
import { CommandFailure, exitCodes } from "../../../program/exit-codes.ts";

/** The options of `meter cloud quarantine retry`. */
export interface RetryQuarantinedOptions {
  readonly all: boolean;
  readonly ids: readonly string[];
}

/** Sends refused records again. */
export async function retryQuarantined(
  context: CommandContext,
  options: RetryQuarantinedOptions,
): Promise<void> {
  if (options.all === options.ids.length > 0) throw new UsageError("Expected: either request ids or --all.");
  await withStore(context.home, { readOnly: false }, async (store) => {
    const entries = store.quarantine.list();
    for (const id of options.ids) {
      const found = new Set(entries.map((each) => each.requestId).filter((each) => each.startsWith(id)));
      if (found.size !== 1 || id === "") {
        const problem =
          id === ""
            ? "The id is empty."
            : found.size === 0
              ? `No request in quarantine has the id ${id}.`
              : `Several requests in quarantine have ids that begin with ${id}. Use a longer prefix.`;
        throw new CommandFailure(`${problem}\nList them: meter cloud quarantine list`, exitCodes.notFound);
      }
    }
    const chosen = options.all
      ? entries
      : entries.filter((entry) => options.ids.some((id) => entry.requestId.startsWith(id)));
    let released = 0;
    for (const kind of ["metadata", "body"] as const) {
      const ids = new Set(chosen.filter((entry) => entry.kind === kind).map((entry) => entry.requestId));
      released += store.quarantine.release(kind, [...ids]);
    }
    context.print(
      released === 0
        ? "Nothing is in quarantine."
        : `${formatQuantity(released, "record is", "records are")} pending again. The next sync sends ${released === 1 ? "it" : "them"}.`,
    );
  });
}
