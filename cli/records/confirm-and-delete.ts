import { reloadProjects } from "../daemon/daemon-projects.ts";
import { withStore } from "../home/open-store.ts";
import { findHome } from "../program/check-home.ts";
import { confirm } from "../program/confirm.ts";
import { CommandFailure } from "../program/exit-codes.ts";
import {
  deleteOutbox,
  deleteRecords,
  deleteSetAside,
  describeDeletion,
  describeDeletionResult,
} from "./delete-captured.ts";

/** Options of `meter prune` and `meter wipe`. */
export interface DeletionOptions {
  /**
   * A time deletes the requests and bodies from before it, and the copies in the outbox. `null` deletes everything, including the outbox and the
   * damaged databases that were moved aside.
   */
  readonly before: number | null;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly json: boolean;
}

const NOTHING = "There are no records from before that date.";

/** Shows what would be deleted, asks for confirmation, deletes it, and prints the result. Fails if the answer is no. */
export async function confirmAndDelete(
  context: Parameters<typeof confirm>[0] & { readonly env: Readonly<Record<string, string | undefined>> },
  { before, dryRun, yes, json }: DeletionOptions,
  print: (text: string) => void,
): Promise<void> {
  const home = findHome(context.env);
  await withStore(home, { readOnly: dryRun }, async (store) => {
    const planned = store.deletion.count(before);
    const isNothing = before !== null && planned.requests === 0 && planned.bodies === 0;
    if (dryRun) {
      const text = isNothing ? NOTHING : `Would delete ${describeDeletion(planned)}.`;
      return print(json ? JSON.stringify({ dry_run: true, ...planned }, null, 2) : text);
    }
    if (isNothing && !yes)
      return print(
        json
          ? JSON.stringify(
              { dry_run: false, requests: 0, bodies: 0, freed_bytes: 0, keeps_size: true },
              null,
              2,
            )
          : NOTHING,
      );
    if (
      !yes &&
      !(await confirm(context, `Permanently delete ${describeDeletion(planned)}?`, { isPermanent: true }))
    )
      throw new CommandFailure("Nothing was deleted.");
    const freed = await deleteRecords(home, store, before);
    if (before === null) {
      await reloadProjects(home);
      deleteOutbox(home);
      deleteSetAside(home);
    } else {
      const { deleteSentBefore } = await import("../../adapters/outbox/create-outbox.ts");
      await deleteSentBefore(home, before);
    }
    print(
      json
        ? JSON.stringify(
            {
              dry_run: false,
              requests: freed.requests,
              bodies: freed.bodies,
              freed_bytes: freed.freedBytes,
              keeps_size: freed.keepsSize,
            },
            null,
            2,
          )
        : isNothing
          ? NOTHING
          : describeDeletionResult(freed),
    );
  });
}
