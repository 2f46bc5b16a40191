import { type FieldsWith, storedFields } from "../../../core/values/record-fields.ts";

type UnknownField = Exclude<FieldsWith<{ readonly nullable: true }>, FieldsWith<{ readonly type: "tokens" }>>;

/** Every field of a record that may be unknown, as null. A sample record that starts with these needs no edit for a new field. */
export const unknownFields = Object.fromEntries(
  storedFields.flatMap(({ name, nullable, type }) =>
    nullable === true && type !== "tokens" ? [[name, null]] : [],
  ),
) as Readonly<Record<UnknownField, null>>;
