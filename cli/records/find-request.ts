import type { RecordStore, StoredRequest } from "../../daemon/store/port/records.ts";
import { CommandFailure, exitCodes } from "../program/exit-codes.ts";
import { METER_A_PROGRAM } from "../program/failures.ts";

/** Finds a request by a prefix of its id, the provider's own id, or `last`. Fails with `notFound` if there is not exactly one. */
export async function findRequest(
  records: Pick<RecordStore, "find" | "latestId">,
  id: string,
): Promise<StoredRequest> {
  const found = await records.find(id === "last" ? (records.latestId() ?? "") : id);
  if (found.kind === "found") return found.request;
  const problem =
    found.kind === "ambiguous"
      ? `Several request ids begin with ${id}. Use a longer prefix:\n  ${found.requestIds.join("\n  ")}`
      : id === "last"
        ? `Nothing has been metered yet.\n${METER_A_PROGRAM}`
        : `There is no request with the id ${id}.\nList the requests: meter requests`;
  throw new CommandFailure(problem, exitCodes.notFound);
}
