import type { Sha256 } from "../../../core/values/hash.ts";
import {
  type CursorBinding,
  type CursorPosition,
  decodeCursor,
  encodeCursor,
} from "../../../core/wire/cursor.ts";
import { MAX_INSTANT, MIN_INSTANT } from "../../../core/wire/instant.ts";
import { problem } from "../../http/problem.ts";
import type { OrRefusal } from "../../http/read-payload.ts";
import type { Page } from "../../store/reads/page.ts";

/** Encodes and decodes the cursors of one list. */
export interface Paging {
  /** Decodes a cursor; 400 if it was changed or belongs to another workspace or query. */
  read(cursor: string | null): OrRefusal<CursorPosition | null>;
  /** Encodes the cursor of the next page. */
  next(page: Page<unknown>): string | null;
}

/**
 * Creates the paging of one workspace and query. `isId` checks the id in a cursor: the cursor's checksum is not secret, so
 * anyone can forge one.
 */
export function createPaging(binding: CursorBinding, isId: (id: string) => boolean, sha256: Sha256): Paging {
  return {
    read(cursor) {
      if (cursor === null) return { ok: true, value: null };
      const position = decodeCursor(cursor, binding, sha256);
      const usable =
        position !== null && isId(position.id) && position.at >= MIN_INSTANT && position.at <= MAX_INSTANT;
      return usable ? { ok: true, value: position } : { ok: false, refusal: problem("cursor_invalid") };
    },
    next: ({ next }) => (next === null ? null : encodeCursor(next, binding, sha256)),
  };
}
