import type { Store, StoredRequest } from "../daemon/store/mod.ts";
import { CommandFailure, exitCodes } from "./exit-codes.ts";

/** The request that a person names: by its id cut short, the provider's own, or `last`. Fails with `notFound` otherwise. */
export async function findRequest(
  store: Pick<Store, "findRequest" | "latestRequestId">,
  id: string,
): Promise<StoredRequest> {
  const found = await store.findRequest(id === "last" ? (store.latestRequestId() ?? "") : id);
  if (found.kind === "found") return found.request;
  const problem =
    found.kind === "ambiguous"
      ? `several requests begin so; write more of the id:\n  ${found.requestIds.join("\n  ")}`
      : id === "last"
        ? "nothing was metered yet"
        : `no request ${id}`;
  throw new CommandFailure(problem, exitCodes.notFound);
}
