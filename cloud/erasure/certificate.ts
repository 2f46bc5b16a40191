import type { Millis } from "../../core/values/time.ts";
import { formatInstant } from "../../core/wire/instant.ts";
import type { ErasedCounts, Erasure } from "../store/erasures.ts";
import type { ErasedSubject, PurgeSubject } from "../store/purge.ts";

/** What remains after an erasure, for the person who asked for it. */
const REMAINS = [
  "The tokens and costs of the requests, with their times, models and projects.",
  "The places of prompt views and audit events in their ledgers, without reasons, addresses or hashes of content.",
  "Backups and logs of the database that were made before: they hold the bodies encrypted, and their keys were destroyed. They hold the hashes of the bodies, which confirm a guess of a whole body and nothing else.",
  "Backups of the key store that were made before, until they expire. Bodies that were stored before the server encrypted bodies are readable in older backups of the database, until these expire.",
  "Paths, folders, branches, session ids and the reasons of prompt views, in clear: in backups and logs of the database that were made before, until they expire, and in the files of its tables and its write-ahead log, until it is compacted.",
  "Copies on the machines that sent the requests, until they are deleted there with `meter prune` or `meter wipe`.",
] as const;

/** Writes the certificate of an erasure as JSON with sorted parts, so that equal erasures give equal text. */
export function writeCertificate(
  erasure: Erasure,
  { keyIds, counts }: { readonly keyIds: readonly string[]; readonly counts: ErasedCounts },
  finishedAt: Millis,
): string {
  const { workspaceId, erasureId, userId, project, before } = erasure;
  return JSON.stringify({
    certificate: "erasure of prompts",
    version: 1,
    erasure_id: erasureId,
    workspace_id: workspaceId,
    user_id: userId,
    project,
    before: formatInstant(before),
    finished_at: formatInstant(finishedAt),
    destroyed_keys: keyIds,
    erased: {
      bodies: counts.bodies,
      replaced_versions: counts.replaced_versions,
      requests_without_description: counts.requests,
      prompt_views: counts.views,
      audit_events: counts.events,
    },
    remains: REMAINS,
  });
}

const REMAINS_IN_COPIES = [
  "Backups and logs of the database that were made before: they hold the bodies encrypted, and their keys were destroyed, and everything else in clear, until they expire.",
  "Backups of the key store that were made before, until they expire. Bodies that were stored before the server encrypted bodies are readable in older backups of the database, until these expire.",
  "The files of the database's tables and its write-ahead log, until it is compacted.",
  "Copies on the machines that sent the requests, until they are deleted there with `meter prune` or `meter wipe`.",
] as const;

/** What remains of a deleted subject after its purge. */
const REMAINS_OF: Readonly<Record<PurgeSubject["kind"], readonly string[]>> = {
  workspace: [
    "The id of the workspace.",
    "The places of prompt views and audit events in their ledgers, without texts, and of cost seals, without digests.",
    ...REMAINS_IN_COPIES,
  ],
  organisation: ["The id of the organisation."],
  account: [
    "The tokens and costs of the requests in workspaces that others use, with their times, models and projects, under the account's id.",
    "The consents at checkout, without address and browser, under the account's id.",
    "The places of prompt views and audit events in their ledgers, without texts.",
    ...REMAINS_IN_COPIES,
  ],
};

/**
 * Writes the certificate of the purge of a deleted workspace, organisation or account, as JSON. `erased` has the number of rows that were
 * deleted or blanked, by their kind, and is null if a version erased them that did not count.
 */
export const writeDeletionCertificate = ({ kind, id, deletedAt, erasedAt, rows }: ErasedSubject): string =>
  JSON.stringify({
    certificate: `erasure of a deleted ${kind}`,
    version: 1,
    id,
    deleted_at: formatInstant(deletedAt),
    finished_at: formatInstant(erasedAt),
    erased: rows === null ? null : Object.fromEntries(Object.entries(rows).sort()),
    remains: REMAINS_OF[kind],
  });
