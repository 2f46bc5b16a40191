import type { Sha256 } from "../../../core/hash.ts";
import {
  type CursorBinding,
  type CursorPosition,
  decodeCursor,
  encodeCursor,
  MAX_INSTANT,
  MIN_INSTANT,
} from "../../../core/wire/mod.ts";
import { problem } from "../../errors.ts";
import type { Reading } from "../../read-payload.ts";
import type { Page } from "../../store/reads/page.ts";

/** Writes and reads the cursors of one list. */
export interface Paging {
  /** Where a page begins; a cursor that is not of this workspace and query, or was changed, is a 400. */
  read(cursor: string | null): Reading<CursorPosition | null>;
  /** The cursor to the page after this one. */
  next(page: Page<unknown>): string | null;
}

/**
 * Paging over one workspace's list of one query. `isId` knows the list's ids: a cursor's check is no secret, so what it
 * holds may be anybody's invention.
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
