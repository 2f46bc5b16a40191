import { meterHome } from "../adapters/files/mod.ts";
import { confirm } from "./confirm.ts";
import {
  deleteCaptured,
  deleteOutbox,
  deleteSetAside,
  deletionInWords,
  freedInWords,
} from "./delete-captured.ts";
import { CommandFailure } from "./exit-codes.ts";
import { withStore } from "./open-store.ts";

/** What is to be deleted, and how. */
export interface DeletionOrder {
  /** `null` for everything, with the copies of what was sent to a cloud and the databases that were set aside. */
  readonly before: number | null;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly json: boolean;
}

/** Says what would go, asks, deletes, and says what went. Fails where the person says no. */
export async function askAndDelete(
  context: Parameters<typeof confirm>[0] & { readonly env: Readonly<Record<string, string | undefined>> },
  { before, dryRun, yes, json }: DeletionOrder,
  print: (text: string) => void,
): Promise<void> {
  const home = meterHome(context.env);
  await withStore(home, { readOnly: dryRun }, async (store) => {
    const planned = store.countDeletion(before);
    if (dryRun) {
      print(
        json
          ? JSON.stringify({ dry_run: true, ...planned }, null, 2)
          : `Would delete ${deletionInWords(planned)}.`,
      );
      return;
    }
    if (before !== null && planned.requests === 0 && planned.bodies === 0 && !yes)
      return print(
        json
          ? JSON.stringify(
              { dry_run: false, requests: 0, bodies: 0, freed_bytes: 0, keeps_size: true },
              null,
              2,
            )
          : "Nothing was captured before that.",
      );
    if (!yes && !(await confirm(context, `Delete ${deletionInWords(planned)} for good?`, { forGood: true })))
      throw new CommandFailure("nothing was deleted");
    const freed = await deleteCaptured(home, store, before);
    if (before === null) {
      deleteOutbox(home);
      deleteSetAside(home);
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
        : freedInWords(freed),
    );
  });
}
